"""The design pages, and the contrast of the colours of texts."""

import re
from pathlib import Path

import pytest
from tests.databases import sqlite_only
from tests.support.staff_site import StaffSite

from dissensus.web.design import list_text_colours, load_colours

SHEETS = Path(__file__).parents[2] / "src/dissensus/web/static"


def test_texts_have_enough_contrast_in_both_schemes() -> None:
    faint = [colour for colour in list_text_colours() if min(colour.light, colour.dark) < 4.5]
    assert faint == []


@pytest.mark.parametrize("sheet", sorted(SHEETS.glob("*.css")), ids=lambda path: path.name)
def test_style_sheets_use_the_colours_of_the_design(sheet: Path) -> None:
    text = sheet.read_text("utf-8")
    named = set(re.findall(r"var\(--([\w-]+)", text))
    own = set(re.findall(r"--([\w-]+):", text)) | {"full", "pin"}
    design = set(re.findall(r"--([\w-]+):", (SHEETS / "design.css").read_text("utf-8")))
    assert named <= own | design
    if sheet.name != "design.css":
        assert re.findall(r"#[0-9a-f]{3,8}\b", text) == []


def test_labels_of_cells_are_shown_by_browsers_that_know_no_alternative_text() -> None:
    (rule,) = re.findall(r"td\[data-label\]::before \{ (content.*?) \}", (SHEETS / "design.css").read_text("utf-8"))
    contents = [one.strip() for one in rule.split(";") if one.strip().startswith("content:")]
    assert contents == ['content: attr(data-label) " "', 'content: attr(data-label) " " / ""']


def test_no_width_is_both_that_of_a_phone_and_that_of_a_desk() -> None:
    text = "".join((SHEETS / name).read_text("utf-8") for name in ("design.css", "staff.css"))
    widest, narrowest = (set(re.findall(rf"@media \({end}-width: (\w+)\)", text)) for end in ("max", "min"))
    assert narrowest
    assert widest & narrowest == set()


@sqlite_only
def test_the_design_is_shown_to_everybody(staff_site: StaffSite) -> None:
    stranger = staff_site.stranger()
    page = stranger.get("/design")
    assert page.status_code == 200
    assert all(colour.light in page.text and f"swatch-{colour.name}" in page.text for colour in load_colours().values())
    assert "several answers" in stranger.get("/design/raters").text.lower()
