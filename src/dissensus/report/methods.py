"""What every number of a report is, with its formula and source."""

from dataclasses import dataclass

KRIPPENDORFF = "Krippendorff (2011), Computing Krippendorff's Alpha-Reliability"
WONG = "Wong, Paritosh and Aroyo (2021), Cross-replication Reliability"
GRASP = "Prabhakaran, Homan et al. (2024), GRASP"
AROYO = "Aroyo et al. (2023), DICES Dataset"


@dataclass(frozen=True, slots=True)
class Method:
    """A statistic: its name, its formula in LaTeX, what it says, and where it comes from."""

    name: str
    formula: str
    words: str
    source: str

    @property
    def mathml(self) -> str:
        """The formula as MathML, which browsers draw without a script."""
        from latex2mathml.converter import convert

        return str(convert(self.formula, display="block"))


WORDS = (
    "Items are i, answers k of K; n with subscripts counts ratings, m is the number of ratings of an item, p the share "
    "of an answer in the group and q that in the group compared with. Logarithms are natural."
)
METHODS = (
    Method(
        "IRR, Krippendorff's alpha",
        r"\alpha = 1 - \frac{D_o}{D_e}, \quad D_o = \frac{1}{n} \sum_i \frac{m_i^2 - \sum_k n_{ik}^2}{m_i - 1}, "
        r"\quad D_e = \frac{n^2 - \sum_k n_k^2}{n (n - 1)}",
        "Agreement within a group beyond chance: 1 is perfect, 0 is chance. Nominal: answers are the same or not.",
        KRIPPENDORFF,
    ),
    Method(
        "XRR",
        r"\kappa_x = 1 - \frac{d_o}{d_e}",
        "Agreement between two groups beyond chance: the disagreement of two raters, one of each group, on the same "
        "item, over that of any two of their ratings.",
        WONG,
    ),
    Method(
        "Negentropy",
        r"\frac{1}{I} \sum_i \left( \ln K + \sum_k p_{ik} \ln p_{ik} \right)",
        "How far a group's answers are from an even spread: 0 to ln K. Larger in small groups.",
        GRASP,
    ),
    Method(
        "Cross-negentropy",
        r"\frac{1}{I} \sum_i \left( \ln K + \sum_k p_{ik} \ln q_{ik} \right)",
        "How well the other group's answers predict this one's. Terms with q = 0 count as 0.",
        GRASP,
    ),
    Method(
        "Plurality size",
        r"\frac{1}{I} \sum_i \max_k p_{ik}",
        "The mean share of the most frequent answer. Larger in small groups.",
        GRASP,
    ),
    Method(
        "Voting agreement",
        r"\alpha \left( \operatorname{argmax}_k p_{ik}, \ \operatorname{argmax}_k q_{ik} \right)",
        "Alpha of the most frequent answers of two groups, as if each were one rater; ties go to the first answer.",
        GRASP,
    ),
    Method(
        "GAI and DSI",
        r"\mathrm{GAI} = \frac{\mathrm{IRR}}{\mathrm{XRR}}, \quad \mathrm{DSI} = \max_g \mathrm{GAI}_g",
        "Agreement within over agreement across: above 1, a group agrees more with itself than with others.",
        GRASP,
    ),
    Method(
        "Distance between groups",
        r"\frac{1}{I} \sum_i \frac{1}{2} \sum_k \left| p_{ik} - q_{ik} \right|",
        "Mean total variation of two soft labels: the share of answers that would have to change.",
        "Levin, Peres and Wilmer (2009), Markov Chains and Mixing Times, section 4.1",
    ),
    Method(
        "Entropy of an item",
        r"- \sum_k p_{ik} \ln p_{ik}",
        "Disagreement of all raters on one item: 0 where all answer alike, ln K where answers are spread evenly.",
        "Shannon (1948), A Mathematical Theory of Communication",
    ),
    Method(
        "Permutation p-value",
        r"p = \min \left( 1, \ 2 \, \frac{1 + \min ( b_{\le}, b_{\ge} )}{B + 1} \right)",
        "Demographic rows change places among raters, who keep their answers; b counts replicates as low or as high as "
        "observed. Adjusted: Benjamini and Hochberg (1995).",
        f"Phipson and Smyth (2010), Permutation P-values Should Never Be Zero; {GRASP}",
    ),
    Method(
        "Intervals",
        r"\left[ \hat{\theta} + q_a ( \theta^* - \bar{\theta}^* ), \ "
        r"\hat{\theta} + q_{1 - a} ( \theta^* - \bar{\theta}^* ) \right]",
        "Raters and items are drawn with replacement in each of the replicates, whose deviations from their mean have "
        "the quantiles q; copies of one rater never form a pair.",
        "Owen (2007), The pigeonhole bootstrap",
    ),
)
