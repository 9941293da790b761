"""The page: every part is there, everything from outside is escaped, nothing is loaded."""

import json
import re
from html.parser import HTMLParser

import pytest
from subjects import DRAWN, NASTY

from maxmargin.reporting.content import Figure, Section, Slider, Table, Text
from maxmargin.reporting.page.elements import data, element, table
from maxmargin.reporting.theme import DARK, LIGHT, resolved

LARGEST = 3_000_000
VOID = {"meta", "input"}


class Parsed(HTMLParser):
    """Elements of a page: names, attributes, text of scripts; raises if an element is not closed."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open, self.scripts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + text)

    def named(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def test_a_page_is_well_formed_small_and_loads_nothing(report):
    text = report.html()
    assert len(text.encode()) < LARGEST
    page = Parsed(text)
    assert [name for name, _ in page.found].count("h1") == 1
    assert not page.named("link") + page.named("img") + page.named("iframe")
    assert not [one for _, one in page.found if "src" in one or one.get("href", "#")[0] != "#"]
    policy = next(one["content"] for one in page.named("meta") if "http-equiv" in one)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert sum(one.get("type") != "application/json" for one, _ in page.scripts) == 2


def test_every_picture_has_a_text_alternative_and_what_is_expected_is_drawn(kind, report):
    page = Parsed(report.html())
    drawn = {one["data-figure"] for one in page.named("figure")}
    assert DRAWN[kind] <= drawn
    pictures = [one for one in page.named("div") if one.get("class") == "picture"]
    assert len(pictures) == len(drawn) == len(report.figures)
    assert all(one["role"] == "img" and len(one["aria-label"]) > 20 for one in pictures)
    specs = next(json.loads(text) for one, text in page.scripts if one.get("id") == "specs")
    assert set(specs) == drawn


def test_links_of_the_contents_lead_somewhere(report):
    page = Parsed(report.html())
    anchors = [one["id"] for _, one in page.found if "id" in one]
    assert len(anchors) == len(set(anchors))
    assert {one["href"][1:] for one in page.named("a")} <= set(anchors)


def test_nothing_from_outside_becomes_an_element(nasty):
    text = nasty.html()
    page = Parsed(text)
    assert "<script>window.hacked" not in text
    assert len(page.scripts) == 2 + sum(one.get("type") == "application/json" for one, _ in page.scripts)
    for attributes, written in page.scripts:
        if attributes.get("type") == "application/json":
            assert "<" not in written
    assert any(NASTY in json.dumps(json.loads(written), ensure_ascii=False).replace('\\"', '"')
               for one, written in page.scripts if one.get("id") == "specs")  # fmt: skip


@pytest.mark.parametrize("value", [NASTY, "</script>", "<!--", "\u2028", "a\\b"])
def test_json_in_a_script_element_comes_back_and_cannot_end_it(value):
    written = data("x", {"value": value})
    assert written.count("<") == 2
    assert json.loads(re.fullmatch(r"<script[^>]*>(.*)</script>", written)[1]) == {"value": value}


def test_attributes_and_cells_are_escaped():
    assert element("p", title='"<&') == '<p title="&quot;&lt;&amp;"></p>'
    assert "<b>" not in table(Table("<b>", ("<b>", "<b>"), [("<b>", "<b>")]))


def test_a_name_that_looks_like_a_colour_is_left_alone():
    assert resolved({"a": ["var(--ink)", "var(--no such)"]}, LIGHT) == {"a": [LIGHT["ink"], "var(--no such)"]}
    assert LIGHT.keys() == DARK.keys()


def test_text_is_readable_on_its_background():
    def luminance(colour):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    for colours in (LIGHT, DARK):
        for name in ("ink", "muted", "link", "good", "warn"):
            for ground in ("paper", "panel"):
                low, high = sorted((luminance(colours[name]), luminance(colours[ground])))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ground)


def test_the_slider_begins_at_the_threshold_of_the_model(binary):
    slider = next(part for section in binary.sections for part in section.parts if isinstance(part, Slider))
    assert slider.thresholds[slider.start] == 0.0
    assert {sum(counts) for counts in slider.counts} == {400}
    assert set(slider.follows) <= {one.name for one in binary.figures}


def test_sections_hold_what_they_say(binary):
    names = [section.name for section in binary.sections]
    assert names == ["findings", "certificate", "errors", "margins", "ranking", "calibration", "weights", "boundary",
                     "explanations", "convergence", "provenance"]  # fmt: skip
    for section in binary.sections:
        assert isinstance(section, Section)
        assert section.parts
    words = [part.words for section in binary.sections for part in section.parts if isinstance(part, Text)]
    assert all(word[0].isupper() or word[0].isdigit() or word[0] == "“" for word in words)
    assert all(isinstance(one, Figure) and one.title for one in binary.figures)
