"""Draw the pictures of docs/reports.md: parts of a real page in a browser, and one picture without it.

    python docs/make_report_pictures.py

Needs maxmargin[report], playwright, Pillow and chromium.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright

import maxmargin

DOCS = Path(__file__).parent
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
COLOURS = 64  # of a picture: keeps each below 200 kB


def people(n: int, seed: int) -> pd.DataFrame:
    """Return a table with a known rule: who pays back."""
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(
        {
            "age": rng.normal(42, 12, n).round().clip(18, 90),
            "income": rng.lognormal(8.3, 0.5, n).round(),
            "debts": rng.lognormal(7.0, 1.0, n).round(),
            "town": rng.choice(["Basel", "Bern", "Chur", "Genf"], n),
            "work": rng.choice(["office", "trade", "own", "none"], n, p=[0.5, 0.3, 0.15, 0.05]),
        }
    )
    score = 0.04 * (found.age - 42) + 1.3 * np.log(found.income / found.debts) - 1.5 - 1.2 * (found.work == "none")
    found["answer"] = np.where(score + rng.normal(0, 1, n) > 0, "pays", "fails")
    found.loc[rng.random(n) < 0.05, "income"] = np.nan
    return found


def shots(page_file: Path) -> None:
    """Draw the head of the page in light, and margins and curves in dark."""
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        light = opened(browser, page_file, "light")
        kept(light.screenshot(clip={"x": 0, "y": 0, "width": 1000, "height": 1000}), "report.png")
        dark = opened(browser, page_file, "dark")
        top = dark.locator("#margins").bounding_box()
        end = dark.locator("#calibration").bounding_box()
        clip = {"x": 0, "y": top["y"], "width": 1000, "height": end["y"] - top["y"]}
        kept(dark.screenshot(clip=clip, full_page=True), "report-dark.png")
        browser.close()


def opened(browser: Any, page_file: Path, scheme: str) -> Any:
    """Return the page, drawn."""
    page = browser.new_page(viewport={"width": 1000, "height": 1000}, color_scheme=scheme)
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready=true]")
    return page


def kept(content: bytes, name: str) -> None:
    """Write a picture with few colours."""
    with Image.open(io.BytesIO(content)) as picture:
        picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)


def main() -> None:
    """Draw all pictures."""
    rng = np.random.default_rng(4)
    with tempfile.TemporaryDirectory() as folder:
        page_file = Path(folder) / "people.html"
        result = maxmargin.train(people(5000, 0), label="answer", solver="dual_coordinate")
        maxmargin.report(result, people(2000, 1), path=page_file)
        shots(page_file)
        X = rng.normal(size=(500, 2))
        y = np.where(np.sin(1.7 * X[:, 0]) + 0.3 * rng.normal(size=500) > X[:, 1], "below", "above")
        curved = maxmargin.report(maxmargin.train(X, y, kernel="gaussian", C=5), X, y)
        curved.save_pictures(folder)
        kept((Path(folder) / "boundary.png").read_bytes(), "report-boundary.png")


if __name__ == "__main__":
    main()
