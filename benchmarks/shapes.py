"""The data that is measured on: drawn from the model of `dissensus.simulate_ratings`, in the shapes of real tables."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.files.raw.table_writer import write_frame
from dissensus.pipeline.simulate import CUTS, SCALE, draw_answers, preset, simulate

Codes = npt.NDArray[np.int32]
RACES = ("Asian", "Black", "Latinx", "Multiracial", "White")
GENDERS = ("Man", "Woman")
# Mean bytes of the texts of a conversation in the released data, where the simulated ones are shorter.
TEXTS_350 = {"context": 272, "response": 95}
TEXTS_990 = {"context": 342}
FILLER = " I would be glad to hear more about it, whenever you have the time."


def complete(path: Path) -> None:
    """DICES-350: 104 raters, 350 items, every rater rates every item."""
    answers = draw_answers(np.random.default_rng(350), np.zeros(104, np.int32), 350)
    raters, items = (codes.astype(np.int32) for codes in np.nonzero(answers >= 0))
    _save(path, items, raters, answers.ravel(), answers.shape, np.random.default_rng(1).integers(5, size=104))


def partial(path: Path) -> None:
    """DICES-990: 173 raters, 990 items, about 73 ratings an item."""
    rng = np.random.default_rng(990)
    answers = draw_answers(rng, np.zeros(173, np.int32), 990)
    raters, items = (codes.astype(np.int32) for codes in np.nonzero(rng.random(answers.shape) < 73 / 173))
    _save(path, items, raters, answers[raters, items], answers.shape, rng.integers(5, size=173))


def large(path: Path) -> None:
    """10 million ratings: 1 million items, 10 ratings each, 10 thousand raters."""
    _sparse(path, 1_000_000)


def sparse(path: Path) -> None:
    """200 thousand ratings: as `large`, with a fiftieth of the items."""
    _sparse(path, 20_000)


def fine_values(path: Path) -> None:
    """200 thousand ratings, 10 an item, on 100 thousand distinct values."""
    _values(path, 20_000, 100_000)


def coarse_values(path: Path) -> None:
    """20 thousand ratings, 10 an item, on 2 thousand distinct values."""
    _values(path, 2_000, 2_000)


def few_values(path: Path) -> None:
    """20 thousand ratings, 10 an item, on 200 distinct values."""
    _values(path, 2_000, 200)


def csv(path: Path) -> None:
    """DICES-350 as a csv file: 104 raters with race and gender, 350 items."""
    cells = [cell[:2] for cell in product(RACES, GENDERS, range(11))][:104]
    race = np.array([RACES.index(cell[0]) for cell in cells])
    answers = draw_answers(np.random.default_rng(350), race, 350, group_sd=0.3)
    raters, items = np.nonzero(answers >= 0)
    frame = pl.DataFrame(
        {
            "item_id": items + 1,
            "rater_id": raters + 1,
            "rater_race": [cells[r][0] for r in raters],
            "rater_gender": [cells[r][1] for r in raters],
            "Q_overall": [SCALE[k] for k in answers.ravel()],
        }
    )
    frame.write_csv(path)


def official_350(path: Path) -> None:
    """DICES-350 as its official file: 43,050 rows, 41 columns, texts as long as the real ones."""
    _official(path, "dices-350", TEXTS_350)


def official_990(path: Path) -> None:
    """DICES-990 as its official file: 72,103 rows, 43 columns, texts as long as the real ones."""
    _official(path, "dices-990", TEXTS_990)


def parquet(path: Path) -> None:
    """10 million ratings as a Parquet file in random order, ids as text, two axes."""
    rng = np.random.default_rng(10)
    items, raters, answers = _draw(rng, 1_000_000)
    race, gender = rng.integers(5, size=10_000), rng.integers(2, size=10_000)
    order = rng.permutation(items.size)
    items, raters, answers = items[order], raters[order], answers[order]
    frame = pl.DataFrame(
        {
            "item_id": "item-" + _digits(items, 7),
            "rater_id": "rater-" + _digits(raters, 5),
            "rater_race": pl.Series(RACES).gather(race[raters]),
            "rater_gender": pl.Series(GENDERS).gather(gender[raters]),
            "Q_overall": pl.Series(SCALE).gather(answers),
        }
    )
    frame.write_parquet(path)


def _official(path: Path, name: str, texts: dict[str, int]) -> None:
    frame = simulate(preset(name)).frame
    write_frame(frame.with_columns(_lengthened(frame[column], mean) for column, mean in texts.items()), path)


def _lengthened(texts: pl.Series, mean: int) -> pl.Series:
    """Return texts that have so many bytes on average, all made longer by the same words."""
    missing = mean - round(np.mean(texts.str.len_bytes().to_numpy()))
    return texts + (FILLER * 9)[:missing]


def _digits(codes: Codes, width: int) -> pl.Series:
    return pl.Series(codes).cast(pl.String).str.zfill(width)


def _sparse(path: Path, n_items: int) -> None:
    rng = np.random.default_rng(n_items)
    items, raters, answers = _draw(rng, n_items)
    _save(path, items, raters, answers, (10_000, n_items), rng.integers(5, size=10_000))


def _draw(rng: np.random.Generator, n_items: int) -> tuple[Codes, Codes, npt.NDArray[np.int16]]:
    """Draw 10 ratings an item, by different ones of 10 thousand raters."""
    items = np.repeat(np.arange(n_items, dtype=np.int32), 10)
    first, step = rng.integers(10_000, size=(n_items, 1)), rng.integers(1, 1_000, size=(n_items, 1))
    raters = ((first + step * np.arange(10)) % 10_000).ravel().astype(np.int32)
    latent = rng.normal(0, 0.65, 10_000)[raters] + rng.normal(0, 0.75, n_items)[items] + rng.normal(size=items.size)
    return items, raters, np.digitize(latent, CUTS * np.sqrt(1 + 0.65**2 + 0.75**2)).astype(np.int16)


def _values(path: Path, n_items: int, n_values: int) -> None:
    rng = np.random.default_rng(n_values)
    items = np.repeat(np.arange(n_items, dtype=np.int32), 10)
    latent = rng.normal(size=n_items)[items] + rng.normal(size=items.size)
    values = (np.argsort(np.argsort(latent)) * n_values // items.size).astype(np.float64) / n_values
    np.savez(path, items=items, values=values, raters=np.tile(np.arange(10, dtype=np.int32), n_items))


def _save(
    path: Path,
    items: Codes,
    raters: Codes,
    answers: npt.NDArray[np.int16],
    shape: tuple[int, ...],
    group: npt.NDArray[np.int64],
) -> None:
    codes = {"items": items, "raters": raters, "answers": answers, "group": group.astype(np.int32)}
    np.savez(path, **codes, shape=np.array([*shape, 3]))  # type: ignore[arg-type]  # its flag is taken for one of them


_SHAPES = (
    complete, partial, large, sparse, fine_values, coarse_values, few_values, csv, official_350, official_990, parquet,
)  # fmt: skip
SHAPES: dict[str, Callable[[Path], None]] = {shape.__name__: shape for shape in _SHAPES}
