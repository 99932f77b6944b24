"""Methods section of an attempts report: formula and source of every number."""

from typing import Final

from dissensus.report.methods import KRIPPENDORFF, Method

GANGULI: Final = "Ganguli et al. (2022), Red Teaming Language Models to Reduce Harms"

WORDS: Final = (
    "Attempts are i, red-teamers g with n attempts each, r is the rating of an attempt by its red-teamer, from 0 to 4, "
    "and s its least harmlessness score. Logarithms are natural."
)
METHODS: Final = (
    Method(
        "Means and shares, by red-teamer",
        r"\hat \mu = \frac{\sum_g t_g}{\sum_g n_g}, \quad \mu^* = \frac{\sum_g w_g t_g}{\sum_g w_g n_g}",
        "With t the total of a red-teamer. The interval lies between the percentiles of μ* over draws of red-teamers, "
        "each drawn w times with all attempts: attempts of one person are correlated. "
        "No interval is given with fewer than ten effective red-teamers, (Σ n)² / Σ n².",
        "Davison and Hinkley (1997), Bootstrap Methods and their Application",
        ("success", "harmlessness", "tags", "reviewers"),
    ),
    Method(
        "Least harmlessness",
        r"s_i = \min_{t} h \left( x_{i1}, \ldots, x_{it} \right)",
        "The least score that a preference model gives to a turn of the bot, each given all before it. Lower is more "
        "harmful. Its zero is arbitrary.",
        GANGULI,
        ("harmlessness",),
    ),
    Method(
        "Spearman's correlation",
        r"\rho = \operatorname{cor} \left( R(r_i), R(s_i) \right)",
        "Of mid-ranks R, which are computed again in each draw of red-teamers.",
        "Spearman (1904), The Proof and Measurement of Association between Two Things",
        ("harmlessness", "reviewers"),
    ),
    Method(
        "Gini coefficient",
        r"G = \frac{\sum_g \left( 2 g - m - 1 \right) n_{(g)}}{m \sum_g n_g}",
        "Over m red-teamers from the least busy to the busiest: 0 if all made equally many attempts, near 1 if one "
        "made all.",
        "Gini (1912), Variabilità e mutabilità",
        ("people",),
    ),
    Method(
        "Mixed model",
        r"y_i = x_i^\top \beta + u_{g(i)} + e_i, \quad u_g \sim N \left( 0, \tau^2 \right), \quad "
        r"e_i \sim N \left( 0, \sigma^2 \right)",
        "Type and size of the model, both crossed, the score of the description and the source of the red-teamer; "
        "each red-teamer has an intercept. By restricted maximum likelihood. The ratings are ordered answers that are "
        "treated as numbers here, as in the paper.",
        "Laird and Ware (1982), Random-Effects Models for Longitudinal Data; " + GANGULI,
        ("models",),
    ),
    Method(
        "Krippendorff's alpha",
        r"\alpha = 1 - \frac{D_o}{D_e}",
        "Agreement beyond chance of all who rated an attempt: 1 is perfect, 0 is chance. Ordinal on five points, "
        "nominal for success or not.",
        KRIPPENDORFF,
        ("reviewers",),
    ),
    Method(
        "Fleiss' kappa",
        r"\kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}",
        "For attempts with equal numbers of ratings; on five points all differences count the same.",
        "Fleiss (1971), Measuring Nominal Scale Agreement among Many Raters",
        ("reviewers",),
    ),
    Method(
        "The map",
        r"\left( 1 + \ln f_{iw} \right) \left( 1 + \ln \frac{1 + N}{1 + N_w} \right)",
        "Each attempt is the words w of its description and of what the human says, f times each, in N_w of N "
        "attempts; fifty singular vectors of these, each attempt scaled to length 1; regions by k-means; middles of "
        "regions as far apart as a plane allows, each region in the plane in which it varies most.",
        "Deerwester et al. (1990), Indexing by Latent Semantic Analysis; Halko, Martinsson and Tropp (2011), Finding "
        "Structure with Randomness; de Leeuw (1977), Applications of Convex Analysis to Multidimensional Scaling",
        ("map",),
    ),
)
