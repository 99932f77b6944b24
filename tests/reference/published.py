"""Published examples with their published values, as printed; the source stands beside each.

Matrices are raters × items, `-1` where a rater gave no answer. Values of one source are printed with
different numbers of digits; `digits` says how many.
"""

from dataclasses import dataclass, field

from dissensus.stats.distance import Level

Matrix = list[list[int]]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """One table of ratings with its published statistics."""

    source: str
    matrix: Matrix  # raters × items, codes from 0, -1 missing
    values: list[float]  # value of each code
    digits: int = 3
    alpha: dict[Level, float] = field(default_factory=dict)


def _codes(*raters: str, first: str = "1") -> Matrix:
    """One string per rater, one character per item; a dot is a missing answer."""
    return [[-1 if answer == "." else ord(answer) - ord(first) for answer in rater] for rater in raters]


TWO_OBSERVERS_BINARY = Agreement(
    source="Krippendorff, K. (2011). Computing Krippendorff's Alpha-Reliability, section A",
    matrix=_codes("0100000010", "1110010000", first="0"),
    values=[0.0, 1.0],
    alpha={"nominal": 0.095},
)

TWO_OBSERVERS_NOMINAL = Agreement(
    source="Krippendorff, K. (2011). Computing Krippendorff's Alpha-Reliability, section B",
    matrix=_codes("aabbdcccedda", "babbbccceddd", first="a"),
    values=[0.0, 1.0, 2.0, 3.0, 4.0],
    alpha={"nominal": 0.692},
)

FOUR_OBSERVERS = Agreement(
    source=(
        "Krippendorff, K. (2011). Computing Krippendorff's Alpha-Reliability, sections C and D "
        "(nominal, ordinal, interval and ratio values of the same 4 × 12 table)"
    ),
    matrix=_codes("123321412...", "1233224125.3", ".3332342251.", "12332441251."),
    values=[1.0, 2.0, 3.0, 4.0, 5.0],
    alpha={"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797},
)

THREE_CODERS = Agreement(
    source="Wikipedia, Krippendorff's alpha, 'A computational example' (3 × 15)",
    matrix=_codes(".....34121133.3", "1.213343.......", "..21344.21133.4"),
    values=[1.0, 2.0, 3.0, 4.0],
    alpha={"nominal": 0.691, "interval": 0.811},
)

AGREEMENTS = {
    "two observers, binary": TWO_OBSERVERS_BINARY,
    "two observers, nominal": TWO_OBSERVERS_NOMINAL,
    "four observers": FOUR_OBSERVERS,
    "three coders": THREE_CODERS,
}

# Krippendorff's four observers again, in Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th ed.,
# and in the documentation of irrCAC: AC1, percent agreement and percent chance agreement.
GWET_AC1_FOUR_OBSERVERS = {"ac1": 0.77544, "observed": 0.81818, "expected": 0.19032}

# Wikipedia, Fleiss' kappa, 'Worked example': 14 raters, 10 items, 5 categories; kappa 0.210, mean agreement
# 0.378, chance agreement 0.213.
FLEISS_COUNTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
FLEISS = {"kappa": 0.210, "observed": 0.378, "expected": 0.213}


@dataclass(frozen=True, kw_only=True)
class CrossGroup:
    """Counts of two groups (items × categories) with their published statistics."""

    source: str
    counts_x: list[list[int]]
    counts_y: list[list[int]]
    values: dict[str, float]


XRR_UNIT_TEST = CrossGroup(
    source=(
        "Unit test of the Java implementation that accompanies Wong, Paritosh and Aroyo (2021), "
        "Cross-replication Reliability, ACL: five shared items, answers A and B"
    ),
    counts_x=[[0, 2], [0, 3], [2, 0], [3, 0], [1, 1]],
    counts_y=[[0, 2], [1, 1], [1, 1], [1, 1], [2, 0]],
    values={"observed": 0.4090909091, "expected": 0.5, "xrr": 0.1818181818},
)
# the same test: items that only group X has rated must not change anything
XRR_UNSHARED_ITEMS = [[3, 0], [2, 1]]

GRASP_TOY = CrossGroup(
    source=(
        "Toy data of the code that accompanies Prabhakaran, Homan et al. (2024), GRASP, NAACL "
        "(arXiv 2311.05074): five items, three raters a group, answers 0 to 2; values computed from the "
        "paper's definitions"
    ),
    counts_x=[[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]],
    counts_y=[[2, 0, 1], [1, 0, 2], [0, 3, 0], [1, 1, 1], [3, 0, 0]],
    values={
        "alpha_x": 0.3636363636,
        "alpha_y": 0.3194444444,
        "negentropy": 0.7167037877,
        "plurality_size": 0.8,
        "cross_negentropy": 0.5780743516,
        "voting_agreement": 0.3333333333,
        "xrr": 0.4680851064,
        "gai": 0.7768595041,
    },
)
