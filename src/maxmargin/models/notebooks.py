"""What notebooks show of a model: a small table in HTML, and pictures of its report."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isfinite
from typing import Any

from maxmargin.data.labels import show

CLASSES = 6  # classes that are shown


class Shown:
    """A model that notebooks show as a table."""

    def _repr_html_(self) -> str:
        """Return the model as a small table."""
        return html_table(type(self).__name__, model_rows(self))

    def plot(self, name: str | None = None, X: Any = None, y: Any = None) -> Any:
        """Return a picture of the model's report (see `report`), which notebooks show.

        Without a name it is the first that the report has. Most pictures need rows X and their labels y.
        """
        import maxmargin

        return maxmargin.report(self, X, y).picture(name)

    def weights(self) -> Any:
        """Return the weights with the names of their columns, as a table (see named_weights)."""
        from maxmargin.models.named_weights import named_weights

        return named_weights(self)  # type: ignore[arg-type]


def model_rows(model: Any) -> list[tuple[str, str]]:
    """Return what to show of a model."""
    training, gap = model.training, model.certificate.relative_gap
    kernel = getattr(model, "approximation", None) or getattr(model, "kernel", None)
    classes = [show(label) for label in getattr(model, "classes", ())]
    rows = [
        ("proved", f"at most {100.0 * gap:.2g}% above the best objective" if isfinite(gap) else "nothing"),
        ("kernel", str(kernel) if kernel is not None else ""),
        ("classes", ", ".join(classes[:CLASSES]) + (", ..." if len(classes) > CLASSES else "")),
        ("trained on", f"{training['n']:,} rows" if isinstance(training.get("n"), int) else ""),
        ("features", f"{model.d:,}"),
        ("support vectors", f"{len(model.support):,}"),
        ("loss, C", f"{training.get('loss', '')}, {training.get('C', '')}".strip(", ")),
    ]
    return [(name, words) for name, words in rows if words]


def html_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a small table. Everything in it is escaped."""
    lines = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(words)}</td></tr>'
        for name, words in rows
    )
    return f"<table><caption><strong>{escape(title)}</strong></caption><tbody>{lines}</tbody></table>"
