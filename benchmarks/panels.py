"""How a picture of several panels is finished: one legend for all, the names of the axes at its edges."""

from __future__ import annotations

from pathlib import Path


def save(figure, axes, across: str, up: str, picture: Path) -> None:
    """Panels in which nothing was drawn are left out."""
    import matplotlib.pyplot as plt

    shown = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    for axis in axes.flat:
        if not axis.has_data():
            axis.axis("off")
    figure.legend(shown.values(), shown.keys(), loc="upper center", ncols=len(shown), fontsize=10, frameon=False)
    figure.supxlabel(across, fontsize=10)
    figure.supylabel(up, fontsize=10)
    figure.tight_layout(rect=(0.01, 0.0, 1.0, 1.0 - 0.5 / figure.get_figheight()))
    figure.savefig(picture, dpi=100)
    plt.close(figure)
    print(f"drawn to {picture}")
