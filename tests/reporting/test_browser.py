"""The page in a real browser, opened from disk with the network blocked: it is drawn, and it answers."""

import shutil

import numpy as np
import pytest
from subjects import DRAWN

import maxmargin

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip

playwright = pytest.importorskip("playwright.sync_api", reason="NO BROWSER TESTS: pip install playwright")
if CHROMIUM is None:
    pytest.skip("NO BROWSER TESTS: chromium is not installed (apt-get install chromium)", allow_module_level=True)


playwright.expect.set_options(timeout=30_000)  # of a busy machine


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens a report and checks afterwards that nothing was asked for and nothing complained."""
    contexts, said, asked = [], [], []

    def open_page(report, width=1200, scheme="light"):
        path = tmp_path / "report.html"
        report.save(path)
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        context.route(lambda url: not url.startswith("file:"), lambda route: asked.append(route.request.url))
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=true]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert asked == []


def labels(page, name):
    """Return the labels of the horizontal axis of a picture."""
    return page.locator(f"#figure-{name} .mark-text.role-axis-label").first


def texts(axis):
    """Return the labels from the smallest: new ones are appended whatever their place, and some have no room."""
    return sorted(filter(None, axis.locator("text").all_text_contents()), key=float)


def box(page, name):
    place = page.locator(f"#figure-{name} svg")
    place.scroll_into_view_if_needed()
    return place.bounding_box()


def test_every_picture_is_drawn(kind, report, opened):
    page = opened(report)
    for name in sorted(DRAWN[kind]):
        assert box(page, name)["width"] > 200, name
        assert page.locator(f"#figure-{name} svg .mark-group path").count() > 0, name
    assert page.locator(".picture svg").count() == len(report.figures)
    assert page.evaluate("() => window.hacked === undefined")


def test_no_width_needs_sideways_scrolling(kind, report, opened):
    for width in (390, 800):
        page = opened(report, width)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_pictures_and_text_follow_the_theme(binary, opened):
    seen = {}
    for scheme in ("light", "dark"):
        page = opened(binary, scheme=scheme)
        seen[scheme] = page.evaluate(
            """() => [getComputedStyle(document.documentElement).backgroundColor,
                      getComputedStyle(document.querySelector('.picture svg .role-axis-title text')).fill,
                      getComputedStyle(document.querySelector('#figure-margins .mark-rect path')).fill]"""
        )
    assert all(one != other for one, other in zip(*seen.values(), strict=True))
    page.emulate_media(media="print")
    assert page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")


def test_hovering_tells_the_numbers(binary, opened):
    page = opened(binary)
    bar = page.locator("#figure-margins .mark-rect path").nth(20)
    bar.scroll_into_view_if_needed()
    place = bar.bounding_box()
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert "rows" in tooltip.inner_text()


def test_the_wheel_with_alt_zooms_and_a_double_click_shows_all(binary, opened):
    page = opened(binary)
    place = box(page, "gap-epochs")
    axis = labels(page, "gap-epochs")
    before = texts(axis)
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 3)
    page.keyboard.down("Alt")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Alt")
    playwright.expect(axis).not_to_have_text("".join(before))
    zoomed = axis.text_content()
    page.mouse.dblclick(place["x"] + place["width"] / 2, place["y"] + place["height"] / 3)
    playwright.expect(axis).not_to_have_text(zoomed)
    assert texts(axis) == before


@pytest.mark.parametrize("name", ["objective-epochs", "gap-seconds"])
def test_buttons_zoom_by_keyboard(binary, opened, name):
    page = opened(binary)
    axis = labels(page, name)
    before, seen = texts(axis), [axis.text_content()]
    for button in ("in", "right", "out"):
        page.locator(f"#figure-{name} button[data-zoom={button}]").press("Enter")
        playwright.expect(axis).not_to_have_text(seen[-1])
        seen.append(axis.text_content())
    assert len(set(seen)) == 4
    page.locator(f"#figure-{name} button[data-zoom=reset]").press("Enter")
    playwright.expect(axis).not_to_have_text(seen[-1])
    assert texts(axis) == before


def test_the_slider_moves_the_counts_and_the_marks(binary, opened):
    page = opened(binary)
    slider = page.locator("#threshold")

    def seen():
        mark = page.locator("#figure-roc .mark-symbol path").first.get_attribute("transform")
        return page.locator("[data-cell=tp]").inner_text(), page.locator("[data-cell=rates]").inner_text(), mark

    before = seen()
    for _ in range(15):
        slider.press("ArrowRight")
    playwright.expect(page.locator("#figure-roc .mark-symbol path").first).not_to_have_attribute("transform", before[2])
    after = seen()
    assert int(after[0]) < int(before[0])
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_the_keyboard_reaches_the_content_first(binary, opened):
    page = opened(binary)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("() => document.querySelectorAll('h1').length") == 1
    unnamed = page.evaluate(
        "() => [...document.querySelectorAll('button, input, [role=img]')].filter("
        "one => !(one.ariaLabel || one.textContent || one.labels && one.labels.length)).length"
    )
    assert unnamed == 0


def test_tables_are_stops_of_the_keyboard_only_where_they_scroll(nasty, opened):
    for width in (1200, 390):
        page = opened(nasty, width)
        wrong = page.evaluate(
            """() => [...document.querySelectorAll('.table')].filter(
                one => (one.scrollWidth > one.clientWidth) !== (one.tabIndex === 0)).length"""
        )
        assert wrong == 0
    assert page.locator(".table[role=region]").count() > 0


def test_support_vectors_have_a_ring(browser, opened):
    X = np.random.default_rng(2).normal(size=(150, 2))
    y = X[:, 0] + 0.3 * X[:, 1] ** 2 > 0.4
    result = maxmargin.train(X, y, kernel="gaussian")
    page = opened(maxmargin.report(result, X, y))
    rings = page.locator('#figure-boundary .mark-symbol path[stroke="var(--ink)"]').count()
    assert rings == len(result.model.support) < 150
