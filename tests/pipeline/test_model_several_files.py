"""Multilevel models of several files with shared raters, in the shape of DICES-350 and -990."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.errors import NotFound

FORMULA = "Q_overall ~ race + (1 | rater_id) + (1 | item_id)"
EFFECTS = {"Asian": 0.0, "Black": 0.7, "White": -0.5}
RATERS, COMPLETE, SPARSE = 60, 40, 120


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A complete file and one in which each rater rated half of the items; both number their items from 0."""
    rng = np.random.default_rng(8)
    races = np.array(list(EFFECTS))[np.arange(RATERS) % 3]
    location = np.array([EFFECTS[race] for race in races]) + rng.normal(0, 0.5, RATERS)
    paths = []
    for name, n_items, share in (("dices-350", COMPLETE, 1.0), ("dices-990", SPARSE, 0.5)):
        rater, item = np.nonzero(rng.random((RATERS, n_items)) < share)
        latent = location[rater] + rng.normal(0, 0.8, n_items)[item] + rng.normal(size=item.size)
        frame = pl.DataFrame(
            {
                "item_id": item.astype(str),
                "rater_id": [f"r{code}" for code in rater],
                "rater_race": races[rater],
                "Q_overall": np.array(["No", "Unsure", "Yes"])[np.searchsorted([0.3, 0.6], latent)],
            }
        )
        paths.append(tmp_path_factory.mktemp("files") / f"{name}.csv")
        frame.write_csv(paths[-1])
    return paths


def test_raters_are_shared_and_items_told_apart(files: list[Path]) -> None:
    model = ds.fit_model(files, FORMULA, base={"race": "Asian"}, draws=0)
    assert (model.n_raters, model.n_items) == (RATERS, COMPLETE + SPARSE)
    planted = {row.level: EFFECTS[str(row.level)] for row in model.effects}
    for row in model.effects:
        assert row.estimate == pytest.approx(planted[row.level], abs=3 * row.se)
    assert model.sd["rater_id"] == pytest.approx(0.5, abs=0.15)
    assert model.sd["item_id"] == pytest.approx(0.8, abs=0.15)
    alone = ds.fit_model(files[0], FORMULA, base={"race": "Asian"}, draws=0)
    assert alone.n_items == COMPLETE


def test_a_file_without_rater_ids_is_refused(files: list[Path], tmp_path: Path) -> None:
    pl.read_csv(files[0]).drop("rater_id").write_csv(tmp_path / "nameless.csv")
    with pytest.raises(NotFound, match=r"nameless.csv: There is no column 'rater_id'"):
        ds.fit_model([tmp_path / "nameless.csv", files[1]], FORMULA)
