"""Multilevel models of several files with shared raters, in the shape of DICES-350 and -990."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.errors import NotFound

FORMULA = "Q_overall ~ race + (1 | rater_id) + (1 | item_id)"
EFFECTS = {"Asian": 0.0, "Black": 0.7, "White": -0.5}
THRESHOLDS = (0.3, 0.6)
RATERS, COMPLETE, SPARSE = 60, 40, 120
SD_RATER, SD_ITEM = 0.5, 0.8


def write_files(folder: Path, n_raters: int, n_complete: int, n_items: tuple[int, int], share: float) -> list[Path]:
    """Write a file that some raters rated completely, and one with a share of all ratings; items count from 0 in both.

    The first `n_complete` raters are in both files.
    """
    rng = np.random.default_rng(8)
    races = np.array(list(EFFECTS))[np.arange(n_raters) % 3]
    location = np.array([EFFECTS[race] for race in races]) + rng.normal(0, SD_RATER, n_raters)
    paths = []
    for name, n_own, n_rated, rated_share in (
        ("dices-350", n_complete, n_items[0], 1.0),
        ("dices-990", n_raters, n_items[1], share),
    ):
        rater, item = np.nonzero(rng.random((n_own, n_rated)) < rated_share)
        latent = location[rater] + rng.normal(0, SD_ITEM, n_rated)[item] + rng.normal(size=item.size)
        frame = pl.DataFrame(
            {
                "item_id": item.astype(str),
                "rater_id": [f"r{code}" for code in rater],
                "rater_race": races[rater],
                "Q_overall": np.array(["No", "Unsure", "Yes"])[np.searchsorted(THRESHOLDS, latent)],
            }
        )
        paths.append(folder / f"{name}.csv")
        frame.write_csv(paths[-1])
    return paths


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A complete file and one in which each rater rated half of the items."""
    return write_files(tmp_path_factory.mktemp("files"), RATERS, RATERS, (COMPLETE, SPARSE), 0.5)


def test_raters_are_shared_and_items_told_apart(files: list[Path]) -> None:
    model = ds.fit_model(files, FORMULA, base={"race": "Asian"}, draws=0)
    assert (model.n_raters, model.n_items) == (RATERS, COMPLETE + SPARSE)
    planted = {row.level: EFFECTS[str(row.level)] for row in model.effects}
    for row in model.effects:
        assert row.estimate == pytest.approx(planted[row.level], abs=3 * row.se)
    assert model.sd["rater_id"] == pytest.approx(SD_RATER, abs=0.15)
    assert model.sd["item_id"] == pytest.approx(SD_ITEM, abs=0.15)
    alone = ds.fit_model(files[0], FORMULA, base={"race": "Asian"}, draws=0)
    assert alone.n_items == COMPLETE


@pytest.mark.slow
def test_files_of_the_size_of_dices_recover_the_truth(tmp_path: Path) -> None:
    """104 raters of 350 items, and 252 raters, those among them, of 990 items with about 65 ratings each."""
    model = ds.fit_model(write_files(tmp_path, 252, 104, (350, 990), 0.26), FORMULA, base={"race": "Asian"}, draws=0)
    assert (model.n_raters, model.n_items) == (252, 1340)
    assert model.n_ratings == pytest.approx(101_286, rel=0.01)
    assert all(row.ci_low < EFFECTS[str(row.level)] < row.ci_high for row in model.effects)
    assert all(row.se < 0.1 for row in model.effects)
    for row, threshold in zip(model.thresholds, THRESHOLDS, strict=True):
        assert row.ci_low < threshold < row.ci_high
    truth = {"rater_id": SD_RATER, "item_id": SD_ITEM}
    for deviation in model.deviations:
        assert deviation.ci_low is not None
        assert deviation.ci_high is not None
        assert deviation.ci_low < truth[deviation.group] < deviation.ci_high
        assert deviation.ci_high < 1.25 * deviation.ci_low


def test_a_file_without_rater_ids_is_refused(files: list[Path], tmp_path: Path) -> None:
    pl.read_csv(files[0]).drop("rater_id").write_csv(tmp_path / "nameless.csv")
    with pytest.raises(NotFound, match=r"nameless.csv: There is no column 'rater_id'"):
        ds.fit_model([tmp_path / "nameless.csv", files[1]], FORMULA)
