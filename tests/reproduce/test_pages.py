"""The pages equal the output of the scripts, and differences are explained."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reproduce import aggregation, dices, grasp, intersectional


@pytest.fixture(scope="module")
def folder(dices_350: Path, real_data: Callable[[str], Path]) -> Path:
    return real_data("dices-990/items.csv").parent.parent


def test_the_page_of_dices(folder: Path) -> None:
    assert dices.page(folder) == dices.PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_of_grasp(folder: Path) -> None:
    assert grasp.page(folder) == grasp.PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_of_intersectional_models(folder: Path) -> None:
    assert intersectional.page(folder) == intersectional.PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", aggregation.DESCRIPTIONS)
def test_the_pages_of_aggregation(folder: Path, name: str) -> None:
    path = aggregation.PAGES / f"{name}.md"
    assert aggregation.page(name, aggregation.read(folder)) == path.read_text(encoding="utf-8")


def test_differences_are_explained(folder: Path) -> None:
    dices_data, grasp_data = dices.Data.of(folder), grasp.Data.of(folder)
    grids = (dices.groups(dices_data), grasp.table_5(grasp_data), *grasp.table_2(grasp_data.ratings))
    rows = [row for part in grids for line in part.values() for row in line]
    rows += [row for part in dices.sections(dices_data) for row in part.rows]
    rows += [*grasp.dsi(grasp_data), *grasp.stars(grasp_data)]
    assert len(rows) == 70 + 110
    assert [row.label for row in rows if row.verdict != "reproduced" and not row.note] == []
