"""Cases: contenders, their data, and libraries that cannot run with the reason."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Run:
    """A contender on data of a shape, by default that of its case."""

    contender: str
    shape: str | None = None
    factor: float = 1  # By which the measured time is multiplied, to extrapolate it to the size of the case
    note: str = ""  # On the other shape, or the extrapolation
    check: bool = False  # Its value is compared with those of others on this shape; it is no row of the table


@dataclass(frozen=True)
class Missing:
    """A library that cannot do the work of a case."""

    label: str
    input_form: str
    reason: str


@dataclass(frozen=True)
class Process:
    """A whole command: `dissensus` with these words, {data} and {out} (a path without suffix) filled in."""

    words: tuple[str, ...]
    label: str
    runs: int = 5
    # Cached kernels: those of earlier runs, those of `dissensus compile` alone, or none.
    kernels: Literal["earlier", "compiled", "none"] = "earlier"


@dataclass(frozen=True)
class Opening:
    """A page in a browser: what `dissensus` with these words writes to {out}.html."""

    words: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class Budget:
    """The most that the named row may take."""

    row: str
    what: str
    seconds: float
    megabytes: float | None = None


@dataclass(frozen=True)
class Case:
    """A table of the report; {bytes} in its text is the size of its data."""

    name: str
    title: str
    text: str
    shape: str | None
    rows: tuple[Run | Missing | Process | Opening, ...]
    budgets: tuple[Budget, ...] = ()
    big: bool = False
    same_values: bool = True


SMALL = ("krippendorff_matrix", "krippendorff_counts", "evalica_alpha", "nltk_alpha", "crowdkit_alpha")
AXES = ("--by", "race", "--by", "gender", "--cross", "race*gender")
ANALYSE = ("analyse", "{data}", *AXES, "--permutations", "1000", "--bootstrap", "1000", "-o", "{out}.json")
ANALYSE_LARGE = ("analyse", "{data}", "--by", "race", "--by", "gender", "--permutations", "100", "-o", "{out}.json")
REPORT = ("report", "{data}", "--permutations", "1000", "-o", "{out}.html")
READING = tuple(
    Run(name)
    for name in ("ours_reading", "polars_columns", "pandas_columns", "ours_whole", "polars_whole", "pandas_whole")
)


def _fiftieth(contender: str) -> Run:
    return Run(contender, "sparse", 50, "extrapolated from 200 thousand ratings")


def _by_values_squared(contender: str) -> Run:
    return Run(contender, "coarse_values", 2500, "extrapolated from 2 thousand values")


CASES = (
    Case(
        "alpha-350",
        "Nominal alpha, shape of DICES-350",
        "36,400 ratings: 104 raters, 350 items, complete, 3 answers.",
        "complete",
        tuple(Run(name) for name in ("ours_alpha", "ours_alpha_counts", *SMALL)),
    ),
    Case(
        "alpha-990",
        "Nominal alpha, shape of DICES-990",
        "About 72 thousand ratings: 173 raters, 990 items, 73 ratings an item, 3 answers.",
        "partial",
        tuple(Run(name) for name in ("ours_alpha", "ours_alpha_counts", *SMALL)),
    ),
    Case(
        "alpha-10m",
        "Nominal alpha, 10 million ratings",
        "10 thousand raters, 1 million items, 10 ratings an item, 3 answers.",
        "large",
        (
            Run("ours_alpha"),
            Run("ours_alpha_counts"),
            Run("krippendorff_counts"),
            Run("ours_alpha", shape="sparse", check=True),
            _fiftieth("nltk_alpha"),
            _fiftieth("crowdkit_alpha"),
            Missing("krippendorff", "raters × items", "the matrix alone is 80 GB"),
            Missing("evalica", "raters × items", "the matrix alone is 80 GB"),
        ),
        (Budget("ours_alpha", "alpha of 10 million ratings", 0.12),),
        big=True,
    ),
    Case(
        "fleiss-350",
        "Fleiss' kappa, shape of DICES-350",
        "Items × answers, 350 × 3.",
        "complete",
        (Run("ours_fleiss"), Run("statsmodels_fleiss")),
    ),
    Case(
        "interval-2k",
        "Interval alpha, 2 thousand distinct values",
        "20 thousand ratings of 2 thousand items.",
        "coarse_values",
        (
            Run("ours_interval"),
            Run("evalica_interval"),
            Run("nltk_interval"),
            Run("crowdkit_interval"),
            Run("ours_interval", shape="few_values", check=True),
            Run("krippendorff_interval", shape="few_values", note="on 200 distinct values; 2 thousand need 60 GiB"),
        ),
    ),
    Case(
        "interval-100k",
        "Interval alpha, 100 thousand distinct values",
        "200 thousand ratings of 20 thousand items.",
        "fine_values",
        (
            Run("ours_interval"),
            Run("ours_interval", shape="coarse_values", check=True),
            _by_values_squared("nltk_interval"),
            _by_values_squared("crowdkit_interval"),
            Missing("evalica", "raters × items", "values × values alone is 80 GB"),
            Missing("krippendorff", "raters × items", "items × values × values is 1.6 PB"),
        ),
    ),
    Case(
        "permutations-350",
        "1,000 permutations × 5 groups, shape of DICES-350",
        "Ours: seven statistics of each group, drawing included. There is no peer; a loop over a library's alpha, IRR "
        "alone, is the nearest.",
        "complete",
        (
            Run("ours_permutations"),
            Run("krippendorff_permutations", factor=50, note="extrapolated from 20 permutations"),
        ),
        (Budget("ours_permutations", "1,000 permutations × 5 groups, shape of DICES-350", 0.025),),
        same_values=False,
    ),
    Case(
        "permutations-990",
        "1,000 permutations × 5 groups, shape of DICES-990",
        "As above.",
        "partial",
        (
            Run("ours_permutations"),
            Run("krippendorff_permutations", factor=50, note="extrapolated from 20 permutations"),
        ),
        (Budget("ours_permutations", "1,000 permutations × 5 groups, shape of DICES-990", 0.6),),
        same_values=False,
    ),
    Case(
        "bootstrap-350",
        "1,000 bootstrap replicates, shape of DICES-350",
        "The two do different work. Ours resamples raters and items, together and alone. evalica's KALPHA bootstrap "
        "resamples pairs of one table's ratings, and its interval holds for these raters and items alone.",
        "complete",
        (Run("ours_bootstrap"), Run("evalica_bootstrap", factor=10, note="extrapolated from 100 replicates")),
        same_values=False,
    ),
    Case(
        "reading",
        "Reading a narrow csv file, shape of DICES-350",
        "36,400 rows of 5 columns, {bytes:,} bytes. `read_ratings` also tells the scale and makes sure that ids are "
        "there, that nobody rated an item twice, that attributes do not contradict each other and that answers are on "
        "the scale. `read_csv`, that of polars as that of pandas, guesses the types of columns and checks nothing.",
        "csv",
        (Run("ours_reading"), Run("polars_columns"), Run("pandas_columns")),
    ),
    Case(
        "reading-350",
        "Reading the official csv file, DICES-350",
        "43,050 rows of 41 columns, conversations included, drawn by `dissensus simulate` and lengthened to the texts "
        "of the real file: {bytes:,} bytes, the real one has 31,143,485. Columns for `Q_overall` are ids, answer "
        "times, attributes of raters and items, conversations included, and that answer. Checked is what is checked "
        "above, and that answer times are times.",
        "official_350",
        READING,
    ),
    Case(
        "reading-990",
        "Reading the official csv file, DICES-990",
        "72,103 rows of 43 columns, as above: {bytes:,} bytes, the real one has 50,399,432.",
        "official_990",
        READING,
    ),
    Case(
        "process-350",
        "Whole process, shape of DICES-350",
        "`dissensus analyse` of the narrow csv file: race, gender, race × gender, 1,000 permutations, 1,000 bootstrap "
        "replicates. Cold: the first command after `dissensus compile`, with which `make setup` ends.",
        "csv",
        (
            Process(ANALYSE, "analyse, warm"),
            Process(ANALYSE, "analyse, cold", kernels="compiled"),
            Process(ANALYSE, "analyse, nothing compiled", runs=2, kernels="none"),
            Process(("compile",), "compile", runs=2, kernels="none"),
            Process(("--help",), "--help", runs=10),
        ),
        (
            Budget("analyse, warm", "`dissensus analyse`, shape of DICES-350, warm", 1.5),
            Budget("analyse, cold", "the same, cold", 3),
        ),
    ),
    Case(
        "report-350",
        "Whole process, report on DICES-350",
        "`dissensus report` on the official csv file drawn as above, with gold and topics: 1,000 permutations.",
        "official_350",
        (Process(REPORT, "report, warm"), Process(REPORT, "report, cold", kernels="compiled")),
        (
            Budget("report, warm", "`dissensus report` on DICES-350, warm", 5),
            Budget("report, cold", "the same, cold", 7),
        ),
    ),
    Case(
        "opening-350",
        "Opening the report on DICES-350",
        "That page in a headless browser, 1280 × 720, each time in a context of its own: from the start of the "
        "navigation to the first contentful paint, to the end of the load event, and until both have come.",
        "official_350",
        (Opening(REPORT, "report"),),
        (Budget("report", "opening the report on DICES-350", 1),),
    ),
    Case(
        "process-10m",
        "Whole process, 10 million ratings",
        "`dissensus analyse` of a Parquet file, rows in random order, ids as text: race, gender, 100 permutations.",
        "parquet",
        (Process(ANALYSE_LARGE, "analyse, 10 million", runs=3),),
        (Budget("analyse, 10 million", "`dissensus analyse` of 10 million ratings", 90, 3000),),
        big=True,
    ),
)
