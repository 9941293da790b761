"""The page: one HTML file with its style, its pictures and the program that draws them. It loads nothing.

A content security policy allows the two scripts of the page by their digests and nothing else, so that even text that
slipped through the escaping could not run, and no address can be asked for.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from maxmargin.reporting.content import Figure, Section, Text
from maxmargin.reporting.drawing import javascript
from maxmargin.reporting.page.elements import data, element, part, text
from maxmargin.reporting.theme import CONFIG, DARK, LIGHT, css
from maxmargin.system.atomic_files import beginning

BEGINNING = b"<!doctype html>"


def page(title: str, verdict: Text, sections: Sequence[Section]) -> str:
    """Return the page."""
    scripts = [inside_script(javascript()), resource("report.js")]
    return "".join(
        [
            f'{BEGINNING.decode()}\n<html lang="en">',
            head(title, scripts),
            element("body", *body(title, verdict, sections), *(f"<script>{one}</script>" for one in scripts)),
            "</html>\n",
        ]
    )


def inside_script(program: str) -> str:
    """Return a program with the only texts rewritten that could end a script element, which strings may hold."""
    return program.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def head(title: str, scripts: Sequence[str]) -> str:
    """Return the head: what may run, the title, the style."""
    allowed = " ".join(f"'sha256-{digest(one)}'" for one in scripts)
    policy = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"
    return element(
        "head",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        element("title", text(title)),
        element("style", style()),
    )


def body(title: str, verdict: Text, sections: Sequence[Section]) -> list[str]:
    """Return the parts of the body."""
    links = [element("li", element("a", text(one.title), href=f"#{one.name}")) for one in sections]
    figures = [one for section in sections for one in section.parts if isinstance(one, Figure)]
    specs = {one.name: {key: value for key, value in one.spec.items() if key != "config"} for one in figures}
    return [
        element("a", "Skip to the content", href="#content", class_="skip"),
        element("header", element("h1", text(title)), part(verdict)),
        element("nav", element("ul", *links), aria_label="Contents"),
        element("noscript", element("p", "The pictures need JavaScript. All numbers are also in the tables.")),
        element("main", *(section(one) for one in sections), id="content"),
        element("footer", element("p", "Made by maxmargin. This page loads nothing from the network.")),
        data("specs", specs),
        data("config", CONFIG),
    ]


def section(found: Section) -> str:
    """Return a section; pictures that follow each other stand side by side where there is room."""
    parts: list[str] = []
    row: list[str] = []
    for one in found.parts:
        if isinstance(one, Figure):
            row.append(part(one))
            continue
        parts += [figures(row), part(one)]
        row = []
    heading = element("h2", text(found.title), id=f"{found.name}-title")
    return element("section", heading, *parts, figures(row), id=found.name, aria_labelledby=f"{found.name}-title")


def figures(row: Sequence[str]) -> str:
    """Return pictures side by side."""
    return element("div", *row, class_="figures" if len(row) > 1 else "figures single") if row else ""


@cache
def resource(name: str) -> str:
    """Return a file of this folder."""
    return resources.files("maxmargin.reporting.page").joinpath(name).read_text("utf-8")


def style() -> str:
    """Return the style sheet with both sets of colours. Paper is always light."""
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{css(DARK)}}}}}"
    return f":root{{{css(LIGHT)}}}{dark}{resource('report.css')}"


def digest(script: str) -> str:
    """Return the digest of a script, as a content security policy names it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def is_web_page(path: Path) -> bool:
    """Whether a file is an HTML page."""
    start = beginning(path, 64).lstrip().lower()
    return start.startswith((BEGINNING, b"<html"))
