"""Checks of pages find layout and accessibility faults, and none in a sound page."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext
from tests.browser.page import DESKTOP, PAPER, PHONE, SCREENSHOTS, View, look
from tests.support.chromium import NAMES, find_browser, require_browser, running

HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta http-equiv="Content-Security-Policy" content="POLICY">
<meta name="viewport" content="width=device-width"><style>
:root { color-scheme: light dark; background: light-dark(#fff, #121212) }
body { margin: 8px; font: 16px/1.3 sans-serif } h1 { font-size: 32px; line-height: 1.1 }
</style></head><body><main><h1>The heading of this page takes several lines on a phone</h1>"""

SOUND = """
<p>A paragraph with x<sub>1</sub> and x<sup>2</sup>, مرحبا بالعالم, שלום and 👩‍👩‍👧 in its line.
<math><munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><mfrac><mi>a</mi><mi>b</mi></mfrac></math></p>
<p style="position:absolute; width:1px; height:1px; overflow:hidden; white-space:nowrap">For ears alone</p>
<div style="overflow:hidden; height:24px">Seen <span style="position:absolute; margin-top:30px">further down</span>
<span style="position:fixed; right:0; bottom:0">in the corner</span></div><p><br></p>
<details><summary>More</summary><p style="width:3000px">Closed</p></details>
<div style="overflow-x:auto" tabindex="0" role="region" aria-label="Table">
<table style="width:2000px"><tr><th scope="col">Group</th><td>A long way to the right</td></tr></table></div>
<svg role="img" aria-label="Two bars" viewBox="0 0 200 120" width="200">
<rect width="200" height="120" fill="none"/><rect x="20" width="60" height="40" fill="#24527a"/>
<text x="25" y="25" fill="#fff" font-size="14">Inside</text>
<text fill="currentColor" font-size="14" transform="translate(60 50) rotate(45)">first label</text>
<text fill="currentColor" font-size="14" transform="translate(90 50) rotate(45)">next label</text>
<text x="0" y="80" fill="currentColor" font-size="14"><tspan x="0">two</tspan><tspan x="0" dy="14">lines</tspan></text>
<text y="112" fill="currentColor" font-size="14">mixed <tspan>parts</tspan></text></svg>"""

GIF = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


@pytest.fixture
def show_body(context: BrowserContext, tmp_path: Path) -> "Show":
    return Show(context, tmp_path / "page.html")


class Show:
    """Open a page with a given body."""

    def __init__(self, context: BrowserContext, path: Path) -> None:
        self.context, self.path = context, path

    def __call__(
        self, body: str, *, width: int = DESKTOP, dark: bool = False, paper: bool = False, policy: str = ""
    ) -> View:
        self.path.write_text(f"{HEAD.replace('POLICY', policy)}{body}</main></body></html>", encoding="utf-8")
        scheme, media = "dark" if dark else "light", "print" if paper else "screen"
        return look(self.context, self.path, width=width, scheme=scheme, media=media)  # type: ignore[arg-type]


@pytest.mark.parametrize(("width", "dark"), [(PHONE, True), (DESKTOP, False)])
def test_a_sound_page_has_no_findings(show_body: Show, width: int, dark: bool) -> None:
    view = show_body(SOUND, width=width, dark=dark)
    assert view.overflowing() == []
    assert view.overlapping() == []
    assert view.violations() == []
    assert view.faint() == []
    assert view.requests == []
    assert view.errors == []


def test_boxes_that_scroll_sideways_are_found(show_body: Show) -> None:
    assert show_body(SOUND, width=PHONE).scrolling_sideways() == ["div scrolls sideways, 1656 px"]
    wide = '<p style="width:400px">Wide</p><textarea wrap="off" rows="2" cols="9">Long lines of code</textarea>'
    assert show_body(wide, width=PHONE).scrolling_sideways() == ["html scrolls sideways, 48 px"]
    assert show_body(wide).scrolling_sideways() == []


def test_buttons_without_a_gap_are_found(show_body: Show) -> None:
    row = '<div style="display:flex; gap:{gap}px"><button>Settle</button><a class="button" href="#">Show</a></div>'
    assert show_body(row.format(gap=3)).touching() == ["“Settle” and “Show” touch"]
    assert show_body(row.format(gap=8)).touching() == []
    below = '<button style="display:block">Settle</button><button style="display:block; margin:{gap}px 0">Keep</button>'
    assert show_body(below.format(gap=0)).touching() == ["“Settle” and “Keep” touch"]
    assert show_body(below.format(gap=8)).touching() == []


def test_overflowing_and_clipped_boxes_are_found(show_body: Show) -> None:
    body = f"""<table style="width:600px"><tr><td>Wide</td></tr></table>
    <img alt="Wide" style="width:600px; height:1px" src="{GIF}">
    <p>{"Donaudampfschifffahrt" * 4}</p>
    <p style="margin-left:-40px">To the left</p>
    <div style="overflow-x:auto"><p style="width:600px; text-align:right">Out of reach</p></div>
    <p style="width:90px; overflow:hidden; white-space:nowrap">Cut off without a word</p>
    <p style="width:90px; overflow:hidden; white-space:nowrap; text-overflow:ellipsis">Cut off with dots</p>
    <p style="height:20px; overflow:clip">Seen<br>Not seen</p>
    <svg width="90" height="20"><text y="15">Longer than its figure</text></svg>
    <svg width="90" height="60"><text transform="translate(40 50) rotate(-60)">Turned out of it</text></svg>"""
    assert [re.sub(r",? \d+ px$", "", finding) for finding in show_body(body, width=PHONE).overflowing()] == [
        "table sticks out of the page",
        "img sticks out of the page",
        "p sticks out of the page",
        "div scrolls, but takes no focus",
        "“DonaudampfschifffahrtDonaudampfschifffah…” sticks out of the page",
        "“Out of reach” is cut off by div",
        "“Cut off without a word” is cut off by p",
        "“Cut off with dots” is cut off by p",
        "“Not seen” is cut off by p",
        "“Longer than its figure” is cut off by svg",
        "“Turned out of it” is cut off by svg",
    ]


def test_a_finding_names_the_outermost_box_and_how_far_it_goes(show_body: Show) -> None:
    view = show_body(
        '<div id="wide" class="a b" style="width:400px; margin:0"><p style="margin:0">In it</p></div>', width=PHONE
    )
    assert view.overflowing() == ["div#wide.a.b sticks out of the page, 48 px"]


def test_an_absolute_box_is_clipped_by_positioned_containers_alone(show_body: Show) -> None:
    body = """<div style="position:{position}; overflow:hidden; width:90px; height:60px">
    <p style="position:absolute; width:400px; margin:0">Wide</p></div>"""
    assert show_body(body.format(position="static"), width=PHONE).overflowing() == ["p sticks out of the page, 48 px"]
    assert show_body(body.format(position="relative"), width=PHONE).overflowing() == []


def test_scrolling_boxes_are_clipped_on_paper(show_body: Show) -> None:
    body = '<div style="overflow-x:auto" tabindex="0"><p style="width:900px; text-align:right">Far away</p></div>'
    assert show_body(body, width=PAPER).overflowing() == []
    assert show_body(body, width=PAPER, paper=True).overflowing() == ["“Far away” is cut off by div, 198 px"]


def test_overlapping_texts_are_found(show_body: Show) -> None:
    body = """<p>One</p><p style="margin-top:-30px">Two</p>
    <p style="line-height:0.7; width:90px">Lines without air</p>
    <div style="position:relative">Under<span style="position:absolute; left:10px; top:4px">Over</span></div>
    <svg width="200" height="50"><text x="5" y="20">Three</text><text x="20" y="26">Four</text></svg>
    <svg width="200" height="90"><text transform="translate(20 20) rotate(45)">Aslant</text>
    <text transform="translate(28 20) rotate(45)">Beside</text></svg>
    <svg width="200" height="90"><text x="5" y="50">Across</text>
    <text transform="translate(30 80) rotate(-90)">Upwards</text></svg>
    <svg width="90" height="50"><text><tspan x="0" y="20">Five</tspan><tspan x="0" dy="6">Six</tspan></text></svg>
    <svg width="90" height="50"><g transform="scale(-1 1)"><text x="-80" y="20">Seven</text>
    <text x="-75" y="26">Eight</text></g></svg>
    <p>On paper</p><svg width="200" height="50" style="margin-top:-36px"><text y="12">Drawn</text></svg>"""
    assert {frozenset(re.findall("“(.*?)”", pair)) for pair in show_body(body).overlapping()} == {
        frozenset(pair)
        for pair in (
            {"One", "Two"},
            {"Lines without air"},
            {"Under", "Over"},
            {"Three", "Four"},
            {"Aslant", "Beside"},
            {"Across", "Upwards"},
            {"Five", "Six"},
            {"Seven", "Eight"},
            {"On paper", "Drawn"},
        )
    }


def test_an_overlap_is_reported_with_its_size(show_body: Show) -> None:
    body = '<svg width="200" height="50" font-size="10"><text y="20">First</text><text y="25">Second</text></svg>'
    (pair,) = show_body(body).overlapping()
    assert pair.startswith("“First” and “Second”, ")
    assert pair.endswith(" × 5 px")


def test_invisible_texts_do_not_overlap(show_body: Show) -> None:
    styles = ("display:none", "visibility:hidden", "opacity:0", "display:inline-block; overflow:hidden; width:1px")
    attributes = ["", 'aria-hidden="true"', *(f'style="{style}"' for style in styles)]
    body = "".join(
        f'<p style="position:relative">{i}<span style="position:absolute; left:0"><span {attribute}>X</span></span></p>'
        for i, attribute in enumerate(attributes)
    )
    (pair,) = show_body(body).overlapping()
    assert pair.startswith("“0” and “X”, ")


def test_texts_scrolled_out_of_a_container_do_not_overlap(show_body: Show) -> None:
    body = """<div style="display:flex"><div tabindex="0" style="overflow:auto; width:90px; white-space:nowrap">
    A long line that goes on and on</div><div>Beside it</div></div>"""
    assert show_body(body).overlapping() == []
    assert show_body(body.replace("auto;", "hidden; text-overflow:ellipsis;")).overlapping() == []
    assert show_body(body.replace("overflow:auto; ", "")).overlapping()


def test_axe_finds_accessibility_violations(show_body: Show) -> None:
    body = f"""<h4>Too deep</h4><img src="{GIF}"><p style="color:#aaa">Faint</p>
    <table><tr><th></th></tr></table>"""
    violations = show_body(body).violations()
    rules = ["color-contrast", "empty-table-header", "heading-order", "image-alt"]
    assert sorted(violation.split(" (")[0] for violation in violations) == rules
    assert all("Fix any of the following" in violation for violation in violations)


def test_contrast_is_checked_in_both_colour_schemes(show_body: Show) -> None:
    grey = '<p style="color:#666">Grey</p><svg width="90" height="20"><text y="15" fill="#666">Label</text></svg>'
    light = show_body(grey)
    assert light.violations() == light.faint() == []
    assert [finding.split()[0] for finding in light.faint_in_the_dark()] == ["color-contrast"]
    assert light.violations() == []
    dark = show_body(grey, dark=True)
    assert [finding.split()[0] for finding in dark.violations()] == ["color-contrast"]
    assert dark.faint() == ["“Label” has a contrast of 3.26"]


def test_faint_texts_of_figures_are_found(show_body: Show) -> None:
    figures = (
        '<rect width="90" height="30"/><text x="5" y="20" fill="#000">On black</text>',
        '<rect width="90" height="30" fill="#777"/><text x="5" y="20" fill="#fff">On grey</text>',
        '<text x="5" y="20" fill="#fff">On white</text><rect width="90" height="30" fill-opacity=".1"/>',
        '<g opacity=".5" pointer-events="none"><text x="5" y="20">Half black</text></g>',
        '<text x="5" y="20" fill="#949494" font-size="24">Large</text>',
    )
    body = "".join(f'<svg width="90" height="30" font-size="14">{figure}</svg>' for figure in figures)
    view = show_body(f'<p style="height:2000px">Far above</p>{body}')
    assert view.faint() == [
        "“On black” has a contrast of 1.00",
        "“On grey” has a contrast of 4.48",
        "“On white” has a contrast of 1.00",
        "“Half black” has a contrast of 3.98",
    ]
    assert view.page.evaluate("scrollY") == 0


def test_requests_to_other_hosts_are_refused_and_recorded(show_body: Show) -> None:
    view = show_body("""<img alt="" src="https://example.org/image">
    <script src="http://127.0.0.1:9/script"></script>
    <p style="background:url(//example.org/style)">Text</p>
    <script>fetch('https://example.org/data'); new WebSocket('wss://example.org/socket')</script>""")
    assert set(view.requests) == {
        "https://example.org/image",
        "http://127.0.0.1:9/script",
        "file://example.org/style",
        "https://example.org/data",
        "wss://example.org/socket",
    }


def test_requests_for_other_files_are_refused(show_body: Show, tmp_path: Path) -> None:
    (tmp_path / "beside.css").write_text("h1 { color: rgb(1, 2, 3) }", encoding="utf-8")
    view = show_body('<link rel="stylesheet" href="beside.css">')
    assert view.requests == [(tmp_path / "beside.css").as_uri()]
    assert view.page.eval_on_selector("h1", "element => getComputedStyle(element).color") == "rgb(0, 0, 0)"


def test_console_errors_and_policy_violations_are_recorded(show_body: Show) -> None:
    complaint = "<script>console.error('a complaint')</script>"
    assert show_body(f"{complaint}<script>throw new Error('not caught')</script>").errors == [
        "a complaint",
        "not caught",
    ]
    (breach,) = show_body(complaint, policy="script-src 'none'").errors
    assert "violates the following Content Security Policy directive" in breach


def test_checks_do_not_violate_a_strict_policy(show_body: Show) -> None:
    view = show_body('<h4>Too deep</h4><svg width="90"><text y="15">Text</text></svg>', policy="default-src 'none'")
    assert [finding.split()[0] for finding in view.violations()] == ["heading-order"]
    assert view.overflowing() == view.overlapping() == view.faint() == []
    (breach,) = view.errors
    assert "Applying inline style violates" in breach


def test_screenshots_are_saved_on_request(show_body: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view, folder = show_body('<p style="height:3000px">Long</p>', width=PHONE), tmp_path / "kept"
    monkeypatch.delenv(SCREENSHOTS, raising=False)
    view.shot("long")
    monkeypatch.setenv(SCREENSHOTS, str(folder))
    assert not folder.exists()
    view.shot("long")
    width, height = read_jpeg_size((folder / "long.jpeg").read_bytes())
    assert (width, height > 3000) == (PHONE, True)


def read_jpeg_size(jpeg: bytes) -> tuple[int, int]:
    """Return the width and height of its frame header."""
    start = jpeg.index(b"\xff\xc0") + 5
    height, width = (int.from_bytes(jpeg[at : at + 2]) for at in (start, start + 2))
    return width, height


def test_print_is_a4(show_body: Show) -> None:
    pdf = show_body("<p>First</p><p style='break-before:page'>Second</p>").pdf()
    assert pdf.startswith(b"%PDF-")
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert [float(points) for page in sizes for points in page] == pytest.approx([595, 842] * 2, abs=1)


def test_an_idle_browser_does_not_block_event_loops(browser: Browser) -> None:
    for _ in range(2):
        asyncio.run(asyncio.sleep(0))
        with running(browser._loop), browser.new_context() as context:
            assert context.pages == []


def test_browsers_are_found_in_order(tmp_path: Path) -> None:
    bundled = tmp_path / "own"
    assert find_browser(bundled, search=str(tmp_path)) is None
    bundled.touch()
    assert find_browser(bundled, search=str(tmp_path)) == bundled
    for name in reversed(NAMES):
        (tmp_path / name).touch(mode=0o755)
        assert find_browser(bundled, search=str(tmp_path)) == tmp_path / name


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_without_a_browser_tests_are_skipped_locally_and_fail_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="NO PAGE TESTED: there is no browser"):
        require_browser(tmp_path / "own", search=str(tmp_path))
