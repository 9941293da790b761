"""Drawing of Vega-Lite specifications: the JavaScript of a page, and pictures without a browser.

`vl-convert-python` holds Vega-Lite and a JavaScript engine: it needs neither network nor browser. It is imported only
to draw, because it is an extra.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from maxmargin.errors import ParameterError
from maxmargin.reporting.content import Figure
from maxmargin.reporting.theme import LIGHT, resolved
from maxmargin.system.atomic_files import replacing
from maxmargin.system.overwriting import check_replaces, is_picture

WIDTH = 560  # pixels of a picture outside of a page
SHARPNESS = 2.0  # pixels of a PNG for each one of the picture
VEGA_LITE = "6.4"


@dataclass(frozen=True)
class Picture:
    """A picture that notebooks show."""

    figure: Figure

    def _repr_svg_(self) -> str:
        """Return the picture as SVG."""
        return svg(self.figure.spec, self.figure.title)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the picture as .svg or .png. Only a picture is replaced, unless `force` is true."""
        ending = Path(path).suffix.lower()
        if ending not in (".svg", ".png"):
            raise ParameterError(f"{path}: a picture's name ends in .svg or .png")
        check_replaces(path, "a picture", is_picture, force)
        with replacing(path) as stream:
            stream.write(png(self.figure.spec, self.figure.title) if ending == ".png" else self._repr_svg_().encode())


def converter() -> Any:
    """Return the module that draws; raise if it is not installed."""
    try:
        import vl_convert
    except ImportError:
        raise ParameterError("a report needs vl-convert-python: pip install 'maxmargin[report]'") from None
    return vl_convert


@cache
def javascript() -> str:
    """Return the JavaScript that draws specifications: Vega, Vega-Lite and their loader, which it names vegaEmbed."""
    return str(converter().javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE))


def png(spec: dict[str, Any], title: str) -> bytes:
    """Return a picture as PNG, in the light colours."""
    return bytes(converter().vegalite_to_png(standalone(spec, title), vl_version=VEGA_LITE, scale=SHARPNESS))


def svg(spec: dict[str, Any], title: str) -> str:
    """Return a picture as SVG, in the light colours."""
    return str(converter().vegalite_to_svg(standalone(spec, title), vl_version=VEGA_LITE))


def standalone(spec: dict[str, Any], title: str) -> dict[str, Any]:
    """Return a specification with a title, a width and colours of its own."""
    heading = {"text": title, "color": LIGHT["ink"], "anchor": "start", "fontSize": 14}
    found: dict[str, Any] = resolved({**spec, "width": WIDTH, "title": heading}, LIGHT)
    found["autosize"] = "pad"  # the picture may grow around its plot, where a page has a given width
    found["config"] = {**found["config"], "background": LIGHT["paper"]}
    return found
