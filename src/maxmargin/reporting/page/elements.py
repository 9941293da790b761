"""Elements of HTML as text. Everything that comes from outside is escaped here, and only here."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from maxmargin.reporting.content import Figure, Findings, Part, Slider, Table, Text

NUMBER = re.compile(r"[-+−]?[0-9][0-9,.]*(e[-+]?[0-9]+)?%?|–|∞|unknown|")
MARKS = {True: ("OK", "good"), False: ("Look", "warn"), None: ("Note", "open")}


def element(name: str, *inside: str, **attributes: Any) -> str:
    """Return an element around some HTML. Attributes are escaped; `class_` is class, `aria_label` aria-label."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(inside)}</{name}>"


def text(words: Any) -> str:
    """Return plain text as HTML."""
    return escape(str(words))


def data(name: str, value: Any) -> str:
    """Return JSON inside a script element that is not run. No character of it can end the element."""
    written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return f'<script type="application/json" id="{escape(name)}">{written}</script>'


def part(found: Part) -> str:
    """Return a part of a section."""
    if isinstance(found, Text):
        return element("p", text(found.words), class_=found.role or None)
    if isinstance(found, Table):
        return table(found)
    if isinstance(found, Figure):
        return figure(found)
    return findings(found) if isinstance(found, Findings) else slider(found)


def table(found: Table) -> str:
    """Return a table that scrolls sideways if it is too wide. Numbers are aligned on the right."""
    rows = [[str(cell) for cell in row] for row in found.rows]
    kinds = [
        "number" if k and all(NUMBER.fullmatch(row[k]) for row in rows) else None for k in range(len(found.header))
    ]
    head = [element("th", text(name), scope="col", class_=kind) for name, kind in zip(found.header, kinds, strict=True)]
    body = [element("tr", element("th", text(row[0]), scope="row"), *map(cell, row[1:], kinds[1:])) for row in rows]
    shown = [element("thead", element("tr", *head))] if any(found.header) else []
    inside = element("table", element("caption", text(found.caption)), *shown, element("tbody", *body))
    return element("div", inside, class_="table")


def cell(words: str, kind: str | None) -> str:
    """Return a cell of a table."""
    return element("td", text(words), class_=kind)


def figure(found: Figure) -> str:
    """Return the place of a picture, its buttons, and its numbers as a table."""
    details = []
    if found.table is not None:
        details.append(element("details", element("summary", "The numbers as a table"), table(found.table)))
    words = element("details", element("summary", "What the picture shows"), element("p", text(found.alternative)))
    return element(
        "figure",
        element("figcaption", text(found.title)),
        element("div", role="img", aria_label=found.alternative, class_="picture"),
        zoom_buttons(found) if found.zooms else "",
        words,
        *details,
        id=f"figure-{found.name}",
        data_figure=found.name,
    )


def zoom_buttons(found: Figure) -> str:
    """Return buttons that zoom a picture, for the keyboard."""
    names = {"in": "Zoom in", "out": "Zoom out", "left": "Move left", "right": "Move right", "reset": "Show all"}
    signs = {"in": "+", "out": "−", "left": "←", "right": "→", "reset": "Show all"}
    buttons = [
        element("button", signs[name], type="button", data_zoom=name, aria_label=f"{words}: {found.title}", title=words)
        for name, words in names.items()
    ]
    return element("div", *buttons, class_="zoom", role="group", aria_label="Zoom") + element(
        "p", "Drag to move, turn the wheel with Alt to zoom, double-click to show all.", class_="note zoom-note"
    )


def findings(found: Findings) -> str:
    """Return findings as a list."""
    items = [
        element(
            "li",
            element("span", MARKS[one.good][0], class_="mark"),
            element("div", element("p", text(one.what)), remedy(one.remedy)),
            class_=MARKS[one.good][1],
        )
        for one in found.found
    ]  # fmt: skip
    return element("ul", *items, class_="findings")


def remedy(words: str) -> str:
    """Return what to do about a finding, if there is something to do."""
    return element("p", text(words), class_="remedy") if words else ""


def slider(found: Slider) -> str:
    """Return a slider over thresholds, with the counts at the chosen one."""
    tp, fp, fn, tn = found.counts[found.start]
    yes, no = text(found.positive), text(found.negative)
    heads = [element("th", f"predicted {name}", scope="col", class_="number") for name in (yes, no)]
    cells = [
        element("tr", element("th", "", scope="col"), *heads),
        element("tr", element("th", f"true {yes}", scope="row"), count("tp", tp), count("fn", fn)),
        element("tr", element("th", f"true {no}", scope="row"), count("fp", fp), count("tn", tn)),
    ]
    control = element(
        "label", f"Predict “{text(found.positive)}” if the decision value is above ",
        element("output", f"{found.thresholds[found.start]:.4g}", data_cell="threshold"), for_="threshold",
    )  # fmt: skip
    bar = (
        f'<input type="range" id="threshold" min="0" max="{len(found.thresholds) - 1}" step="1" value="{found.start}">'
    )
    caption = element("caption", "Rows at this threshold")
    rates = element("p", "", data_cell="rates", aria_live="polite", class_="rates")
    return element(
        "div", element("h3", text(found.title)), control, bar,
        element("div", element("table", caption, element("tbody", *cells)), class_="table"), rates, class_="slider",
    ) + data("thresholds", {"thresholds": list(found.thresholds), "counts": [list(one) for one in found.counts],
                            "follows": list(found.follows)})  # fmt: skip


def count(name: str, value: int) -> str:
    """Return a cell with a count that the slider changes."""
    return element("td", f"{value:,}", data_cell=name, class_="number")
