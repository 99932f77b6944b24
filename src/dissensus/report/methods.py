"""Methods section of a report: formula and source of every number."""

from dataclasses import dataclass

KRIPPENDORFF = "Krippendorff (2011), Computing Krippendorff's Alpha-Reliability"
WONG = "Wong, Paritosh and Aroyo (2021), Cross-replication Reliability"
GRASP = "Prabhakaran, Homan et al. (2024), GRASP"
AROYO = "Aroyo et al. (2023), DICES Dataset"


@dataclass(frozen=True, slots=True)
class Method:
    """A statistic: name, formula in LaTeX, explanation, source, and the sections that show it."""

    name: str
    formula: str
    words: str
    source: str
    shown_by: tuple[str, ...]

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
        ("agreement",),
    ),
    Method(
        "XRR",
        r"\kappa_x = 1 - \frac{d_o}{d_e}, \quad d_o = \frac{1}{n + n'} \sum_i \left( m_i + m'_i \right) "
        r"\left( 1 - \sum_k p_{ik} q_{ik} \right), \quad d_e = 1 - \sum_k p_k q_k",
        "Agreement between two groups beyond chance: how often two raters, one of each group, differ on the same item, "
        "over how often any rating of the one and any of the other differ. Primes are the group compared with.",
        WONG,
        ("groups",),
    ),
    Method(
        "Level of measurement",
        r"\delta^2_{ck} = \left( u_c - u_k \right)^2, \quad A_{ck} = 1 - \frac{\left| u_c - u_k \right|}"
        r"{\max u - \min u}",
        "The formulas count answers as the same or not: nominal. Of ordinal and interval answers IRR, XRR and GAI take "
        "the squared difference of mid-ranks or of numbers, u, and agreement and distance the likeness A. Negentropy, "
        "plurality size, voting agreement and total variation remain nominal.",
        KRIPPENDORFF,
        ("agreement",),
    ),
    Method(
        "Negentropy",
        r"\frac{1}{I} \sum_i \left( \ln K + \sum_k p_{ik} \ln p_{ik} \right)",
        "How far a group's answers are from an even spread: 0 to ln K. Larger in small groups.",
        GRASP,
        ("agreement",),
    ),
    Method(
        "Cross-negentropy",
        r"\frac{1}{I} \sum_i \left( \ln K + \sum_k p_{ik} \ln q_{ik} \right)",
        "How well the other group's answers predict this one's. Terms with q = 0 count as 0.",
        GRASP,
        ("groups",),
    ),
    Method(
        "Plurality size",
        r"\frac{1}{I} \sum_i \max_k p_{ik}",
        "The mean share of the most frequent answer. Larger in small groups.",
        GRASP,
        ("agreement",),
    ),
    Method(
        "Voting agreement",
        r"\alpha \left( \operatorname{argmax}_k p_{ik}, \ \operatorname{argmax}_k q_{ik} \right)",
        "Alpha of the most frequent answers of two groups, as if each were one rater; ties go to the first answer.",
        GRASP,
        ("groups",),
    ),
    Method(
        "GAI and DSI",
        r"\mathrm{GAI} = \frac{\mathrm{IRR}}{\mathrm{XRR}}, \quad \mathrm{DSI} = \max_g \mathrm{GAI}_g",
        "Agreement within over agreement across: above 1, a group agrees more with itself than with others.",
        GRASP,
        ("groups",),
    ),
    Method(
        "Distance between groups",
        r"\frac{1}{I} \sum_i \frac{1}{2} \sum_k \left| p_{ik} - q_{ik} \right|",
        "Mean total variation of two soft labels: the share of answers that would have to change.",
        "Levin, Peres and Wilmer (2009), Markov Chains and Mixing Times, section 4.1",
        ("distance", "filter"),
    ),
    Method(
        "Jensen–Shannon divergence",
        r"\frac{1}{I} \sum_i \frac{1}{2} \sum_k \left( p_{ik} \ln \frac{p_{ik}}{u_{ik}} + q_{ik} \ln "
        r"\frac{q_{ik}}{u_{ik}} \right), \quad u = \frac{p + q}{2}",
        "The same in nats, from 0 to ln 2; rare answers weigh more.",
        "Lin (1991), Divergence Measures Based on the Shannon Entropy",
        ("filter",),
    ),
    Method(
        "Entropy of an item",
        r"- \sum_k p_{ik} \ln p_{ik}",
        "Disagreement of all raters on one item: 0 where all answer alike, ln K where answers are spread evenly.",
        "Shannon (1948), A Mathematical Theory of Communication",
        ("labels", "contested"),
    ),
    Method(
        "Experts against the crowd",
        r"\operatorname{argmax}_k n_{ik}",
        "The crowd's answer to an item is the most frequent one; the note of the figure says which answers are unsafe, "
        "and how ties count.",
        f"{AROYO}, section 4",
        ("gold",),
    ),
    Method(
        "Cumulative mixed model",
        r"P(y_{ri} \le k) = F( \tau_k - x_{ri}^\top \beta - z_{ri}^\top b ), \quad b \sim N(0, \Sigma)",
        "Answers y of rater r to item i lie between thresholds τ of a latent value with effects β of attributes and "
        "random effects b of raters, items and other groups; F is the normal or the logistic distribution.",
        "McCullagh (1980), Regression Models for Ordinal Data; Homan et al. (2023), Intersectionality in "
        "Conversational AI Safety",
        ("model",),
    ),
    Method(
        "Predicted shares and labels of populations",
        r"\hat{p}_{ik} = \sum_c w_c \int P(y_{ri} = k \mid c, b_r) \, dN(b_r)",
        "Shares among new raters of each crossed group c, weighted by its share w of a group or a population; the "
        "label is the answer with the largest share.",
        "Gelman and Little (1997), Poststratification into Many Categories Using Hierarchical Logistic Regression",
        ("model", "populations"),
    ),
    Method(
        "False sign rate",
        r"\min \left( P(\delta \ge 0), \ P(\delta \le 0) \right)",
        "Probability that the difference δ of a group from all others on an item is 0 or has the other sign.",
        "Stephens (2017), False Discovery Rates: A New Deal",
        ("divided",),
    ),
    Method(
        "Posterior predictive check",
        r"T(y) \in \left[ q_{\alpha / 2}(T(y^*)), \ q_{1 - \alpha / 2}(T(y^*)) \right]",
        "A statistic T of the answers lies among those of answers y* that are drawn from the model.",
        "Gelman, Meng and Stern (1996), Posterior Predictive Assessment of Model Fitness via Realized Discrepancies",
        ("checks",),
    ),
    Method(
        "Evidence of careless rating",
        r"\frac{1}{I_r} \sum_i \left[ t_{ir} < \tilde{t} / c \right], \quad c = 2, 3, 4",
        "The share of the items of rater r that took less than a half, a third and a quarter of the median time of the "
        "pool, and the share of the rater's answers that are one and the same. The thresholds are stated choices.",
        f"{AROYO}, section 3.5",
        ("vetting",),
    ),
    Method(
        "Outlier score",
        r"d_r = \sqrt{\sum_j \left( \frac{y_{rj} - \operatorname{med}(y_j)}{\sigma(y_j)} \right)^2}, \quad Y = Z E",
        "Distance of a rater from the bulk of raters over several measures: z are the measures in robust standard "
        "units, E the eigenvectors of their robust correlations, and σ the normalised median absolute deviation.",
        "Maronna and Zamar (2002), Robust Estimates of Location and Dispersion for High-Dimensional Datasets",
        ("vetting",),
    ),
    Method(
        "Removal by a filter",
        r"p = \sum_{T : P(T) \le P(T_0)} P(T)",
        "Over all tables T of removed and kept raters with the sums of the observed one. Adjusted over the axes by "
        "Benjamini and Hochberg (1995).",
        "Fisher (1935), The Design of Experiments; Freeman and Halton (1951), Exact Treatment of Contingency",
        ("filter",),
    ),
    Method(
        "Shift of labels",
        r"p = \frac{1 + b_{\ge}}{B + 1}",
        "b counts removals of as many raters at random that move labels as far or further; one-sided.",
        "Phipson and Smyth (2010), Permutation P-values Should Never Be Zero",
        ("filter",),
    ),
    Method(
        "Permutation p-value",
        r"p = \min \left( 1, \ 2 \, \frac{1 + \min ( b_{\le}, b_{\ge} )}{B + 1} \right)",
        "Demographic rows change places among raters, who keep their answers; b counts replicates as low or as high as "
        "observed. Adjusted by Benjamini and Hochberg (1995): statistics over the whole table, distances over the "
        "pairs of an axis.",
        f"Phipson and Smyth (2010), Permutation P-values Should Never Be Zero; {GRASP}",
        ("permutations",),
    ),
    Method(
        "Intervals",
        r"\hat{\theta} + q_a ( s \, d^* ), \quad d^* = \theta^*_{\mathrm{raters}} + \theta^*_{\mathrm{items}} "
        r"- 2 \hat{\theta}, \quad s^2 = 1 - \frac{\operatorname{Var} e^*}{\operatorname{Var} d^*}, \quad "
        r"e^* = \theta^*_{\mathrm{both}} - \theta^*_{\mathrm{raters}} - \theta^*_{\mathrm{items}} + \hat{\theta}",
        "Raters, items and both are drawn with replacement, by the same draws; q are quantiles of the replicates about "
        "their mean. Scaled so that the interaction of raters and items counts once; s is at least the root of 1/2. "
        "Copies of one rater never form a pair. The scaling is ours.",
        "Owen (2007), The pigeonhole bootstrap",
        ("intervals",),
    ),
)
