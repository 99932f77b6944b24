"""Contenders: each reads its data once, in the format of its library, and returns the call to time."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[], Any]
Prepare = Callable[[Path], Call]


@dataclass(frozen=True)
class Contender:
    """A timed call of one library, with its input, imports, preparation and description."""

    label: str
    input_form: str
    imports: tuple[str, ...]
    prepare: Prepare
    treatment: str


CONTENDERS: dict[str, Contender] = {}


def contender(label: str, input_form: str, *imports: str, treatment: str = "") -> Callable[[Prepare], Prepare]:
    """Register a contender under the name of its function; imports that it needs are listed, so that they are timed."""

    def register(prepare: Prepare) -> Prepare:
        CONTENDERS[prepare.__name__] = Contender(label, input_form, imports, prepare, treatment)
        return prepare

    return register


OURS = "Dissensus"
SOME = "columns for `Q_overall`"
WHOLE = "all columns"
CHECKED = "checked and encoded"
UNCHECKED = "nothing checked"


@contender(OURS, "long arrays", "dissensus.stats.agreement")
def ours_alpha(path: Path) -> Call:
    from dissensus import count_answers, krippendorff_alpha

    data = _arrays(path, "items", "answers")
    return lambda: float(krippendorff_alpha(count_answers(**data)))


@contender(OURS, "counts", "dissensus.stats.agreement")
def ours_alpha_counts(path: Path) -> Call:
    from dissensus import krippendorff_alpha

    counts = _counts(path)
    return lambda: float(krippendorff_alpha(counts))


@contender("krippendorff", "raters × items", "krippendorff")
def krippendorff_matrix(path: Path) -> Call:
    import krippendorff

    matrix = _matrix(path)
    return lambda: krippendorff.alpha(reliability_data=matrix, level_of_measurement="nominal")


@contender("krippendorff", "counts", "krippendorff")
def krippendorff_counts(path: Path) -> Call:
    import krippendorff

    counts = _counts(path)
    return lambda: krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")


@contender("evalica", "raters × items", "evalica")
def evalica_alpha(path: Path) -> Call:
    import evalica
    import pandas as pd

    frame = pd.DataFrame(_matrix(path))
    return lambda: evalica.alpha(frame, distance="nominal").alpha


@contender("nltk", "list of triples", "nltk.metrics.agreement")
def nltk_alpha(path: Path) -> Call:
    from nltk.metrics.agreement import AnnotationTask

    triples = _triples(path, "answers")
    return lambda: AnnotationTask(triples).alpha()


@contender("crowd-kit", "long pandas frame", "crowdkit.metrics.data")
def crowdkit_alpha(path: Path) -> Call:
    from crowdkit.metrics.data import alpha_krippendorff

    frame = _long(path, "answers")
    return lambda: alpha_krippendorff(frame)


@contender(OURS, "counts", "dissensus.stats.agreement")
def ours_fleiss(path: Path) -> Call:
    from dissensus import fleiss_kappa

    counts = _counts(path)
    return lambda: float(fleiss_kappa(counts))


@contender("statsmodels", "counts", "statsmodels.stats.inter_rater")
def statsmodels_fleiss(path: Path) -> Call:
    from statsmodels.stats.inter_rater import fleiss_kappa

    counts = _counts(path)
    return lambda: float(fleiss_kappa(counts))


@contender(OURS, "long arrays", "dissensus.stats.agreement")
def ours_interval(path: Path) -> Call:
    from dissensus import krippendorff_alpha_long

    data = _arrays(path, "items", "values")
    return lambda: float(krippendorff_alpha_long(**data, level="interval"))


@contender("krippendorff", "raters × items", "krippendorff")
def krippendorff_interval(path: Path) -> Call:
    import krippendorff

    matrix = _matrix(path, "values")
    return lambda: krippendorff.alpha(reliability_data=matrix, level_of_measurement="interval")


@contender("evalica", "raters × items", "evalica")
def evalica_interval(path: Path) -> Call:
    import evalica
    import pandas as pd

    frame = pd.DataFrame(_matrix(path, "values"))
    return lambda: evalica.alpha(frame, distance="interval").alpha


@contender("nltk", "list of triples", "nltk.metrics.agreement", "nltk.metrics.distance")
def nltk_interval(path: Path) -> Call:
    from nltk.metrics.agreement import AnnotationTask
    from nltk.metrics.distance import interval_distance

    triples = _triples(path, "values")
    return lambda: AnnotationTask(triples, distance=interval_distance).alpha()


@contender("crowd-kit", "long pandas frame", "crowdkit.metrics.data", "nltk.metrics.distance")
def crowdkit_interval(path: Path) -> Call:
    from crowdkit.metrics.data import alpha_krippendorff
    from nltk.metrics.distance import interval_distance

    frame = _long(path, "values")
    return lambda: alpha_krippendorff(frame, distance=interval_distance)


@contender(OURS, "1,000 permutations, seven statistics", "dissensus.stats.design", "dissensus.stats.permutation")
def ours_permutations(path: Path) -> Call:
    from dissensus.stats.design import Design, statistics
    from dissensus.stats.permutation import draw_permutations

    data, group = _design(path)

    def call() -> float:
        drawn = draw_permutations(np.random.SeedSequence(0).spawn(1000), group.size)
        return float(statistics(Design(**data), group[drawn], np.arange(5), np.full(5, -1))[0, 0, 0])

    return call


@contender("krippendorff", "1,000 permutations, counts by `bincount`, IRR alone", "krippendorff")
def krippendorff_permutations(path: Path) -> Call:
    import krippendorff

    data, group = _design(path)
    shape = (5, data["n_items"], data["n_categories"])
    cell = data["items"] * shape[2] + data["answers"]

    def call() -> float:
        rng = np.random.default_rng(0)
        for _ in range(20):
            cells = rng.permutation(group)[data["raters"]] * (shape[1] * shape[2]) + cell
            counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
            alphas = [krippendorff.alpha(value_counts=of_group, level_of_measurement="nominal") for of_group in counts]
        return float(alphas[0])

    return call


@contender(
    OURS,
    "1,000 replicates of raters and items, 5 groups, seven statistics",
    "dissensus.stats.design",
    "dissensus.stats.bootstrap",
)
def ours_bootstrap(path: Path) -> Call:
    from dissensus.stats.bootstrap import draw_resamples, two_way_interval
    from dissensus.stats.design import Design, statistics

    data, group = _design(path)
    groups, inside, outside = group[None], np.arange(5), np.full(5, -1)

    def call() -> float:
        design = Design(**data)
        raters, items = draw_resamples(np.random.SeedSequence(0).spawn(1000), group, design.n_items)
        two_way, of_raters, of_items = (
            statistics(design, groups, inside, outside, rater_weight=r, item_weight=i)
            for r, i in ((raters, items), (raters, None), (None, items))
        )
        observed = statistics(design, groups, inside, outside)[0]
        return float(two_way_interval(observed, two_way, of_raters, of_items, confidence=0.95)[0][0, 0])

    return call


@contender("evalica", "1,000 replicates of pairs, the pool, alpha alone", "evalica")
def evalica_bootstrap(path: Path) -> Call:
    import evalica
    import pandas as pd

    frame = pd.DataFrame(_matrix(path))
    return lambda: evalica.alpha_bootstrap(frame, n_resamples=100, random_state=0).alpha


@contender(OURS, SOME, "dissensus.files.ratings.reader", treatment=CHECKED)
def ours_reading(path: Path) -> Call:
    from dissensus import read_ratings

    return lambda: read_ratings(path).n_ratings


@contender(OURS, WHOLE, "dissensus.files.ratings.reader", treatment=CHECKED)
def ours_whole(path: Path) -> Call:
    from dissensus import read_ratings

    return lambda: read_ratings(path, questions="all").n_ratings


@contender("polars", SOME, "polars", treatment=UNCHECKED)
def polars_columns(path: Path) -> Call:
    import polars as pl

    columns = _columns(path)
    return lambda: pl.read_csv(path, columns=columns).height


@contender("pandas", SOME, "pandas", treatment=UNCHECKED)
def pandas_columns(path: Path) -> Call:
    import pandas as pd

    columns = _columns(path)
    return lambda: len(pd.read_csv(path, usecols=columns))


@contender("polars", WHOLE, "polars", treatment=UNCHECKED)
def polars_whole(path: Path) -> Call:
    import polars as pl

    return lambda: pl.read_csv(path).height


@contender("pandas", WHOLE, "pandas", treatment=UNCHECKED)
def pandas_whole(path: Path) -> Call:
    import pandas as pd

    return lambda: len(pd.read_csv(path))


def _columns(path: Path) -> list[str]:
    """Return the columns that `read_ratings` keeps by default."""
    with path.open(encoding="utf-8") as file:
        header = next(csv.reader(file))
    left_out = ("id", "answer_timestamp")
    return [name for name in header if name == "Q_overall" or not (name in left_out or name.startswith("Q"))]


def _arrays(path: Path, *names: str) -> dict[str, Any]:
    with np.load(path) as data:
        return {name: data[name] for name in names}


def _design(path: Path) -> tuple[dict[str, Any], Any]:
    data = _arrays(path, "items", "raters", "answers", "shape", "group")
    n_raters, n_items, n_categories = (int(size) for size in data.pop("shape"))
    group = data.pop("group")
    return data | {"n_items": n_items, "n_raters": n_raters, "n_categories": n_categories}, group


def _counts(path: Path) -> Any:
    data = _arrays(path, "items", "answers", "shape")
    cells = data["items"] * 3 + data["answers"]
    return np.bincount(cells, minlength=data["shape"][1] * 3).reshape(-1, 3)


def _matrix(path: Path, column: str = "answers") -> Any:
    data = _arrays(path, "raters", "items", column)
    matrix = np.full((data["raters"].max() + 1, data["items"].max() + 1), np.nan)
    matrix[data["raters"], data["items"]] = data[column]
    return matrix


def _triples(path: Path, column: str) -> list[tuple[Any, ...]]:
    data = _arrays(path, "raters", "items", column)
    return list(zip(*(data[name].tolist() for name in ("raters", "items", column)), strict=True))


def _long(path: Path, column: str) -> Any:
    import pandas as pd

    data = _arrays(path, "raters", "items", column)
    return pd.DataFrame({"task": data["items"], "worker": data["raters"], "label": data[column]})
