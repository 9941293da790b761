"""maxmargin demo: train and score on data that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    model: Annotated[Path, typer.Option("--model", "-m", help="Where to save.")] = Path("demo-model.safetensors"),
) -> int:
    """Train on the data that come with the package, check the result on held-out rows, and save the model."""
    from importlib.resources import as_file, files

    from maxmargin.cli.score import score
    from maxmargin.cli.train import train

    with as_file(files("maxmargin.cli") / "demo_data") as folder:
        print("Training on 12,000 made-up short documents: is each about topic -1 or +1?\n", flush=True)
        code: int = train(folder / "topics.xz", tol=1e-6, model=model)
        print("\nOn 3,000 rows that training has not seen:", flush=True)
        score(model, folder / "topics.t.xz")
    print(
        f"""
Next, with files of your own in LIBSVM format:
  maxmargin train your-data.svm -c 1
  maxmargin predict your-data.safetensors more-data.svm -o labels.txt
  maxmargin inspect {model}"""
    )
    return code
