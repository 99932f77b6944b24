"""The pages are what the scripts write now, and what differs is explained."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reproduce import dices, grasp


@pytest.fixture(scope="module")
def folder(dices_350: Path, real_data: Callable[[str], Path]) -> Path:
    return real_data("dices-990/items.csv").parent.parent


def test_the_page_of_dices(folder: Path) -> None:
    assert dices.page(folder) == dices.PAGE.read_text(encoding="utf-8")


def test_the_page_of_grasp(folder: Path) -> None:
    assert grasp.page(folder) == grasp.PAGE.read_text(encoding="utf-8")


def test_what_differs_is_explained(folder: Path) -> None:
    paper, found = dices.Data.of(folder), grasp.Data.of(folder)
    grids = (dices.groups(paper), grasp.table_5(found), *grasp.table_2(found.ratings))
    rows = [row for part in grids for line in part.values() for row in line]
    rows += [row for part in dices.sections(paper) for row in part.rows]
    rows += [*grasp.dsi(found), *grasp.stars(found)]
    assert len(rows) == 70 + 110
    assert [row.what for row in rows if row.verdict != "reproduced" and not row.note] == []
