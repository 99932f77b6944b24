"""Report of red-team attempts: success by model, harmlessness, tags, reviewers, and a map."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from typing import Final

from dissensus.pipeline.analyse.attempts import AttemptAnalysis, AttemptMap, Region
from dissensus.pipeline.analyse.attempts.columns import UNKNOWN_SIZE, UNKNOWN_TYPE
from dissensus.pipeline.tables import UNKNOWN, Grid, escape_unprintable, format_short
from dissensus.report.figures import attempts as figures
from dissensus.report.figures.attempt_map import attempt_map
from dissensus.report.figures.concentration import concentration
from dissensus.report.figures.means import explain_missing, format_as_number, format_as_percent
from dissensus.report.figures.mixed_model import mixed_model
from dissensus.report.groups import format_percent
from dissensus.report.methods import KRIPPENDORFF, Method
from dissensus.report.result import Document, Size
from dissensus.report.sections import Part, Section, SectionParts
from dissensus.report.tables import Disclosure, HiddenPassage, ReportTable
from dissensus.schema.advice import Advice
from dissensus.schema.hints import count_noun
from dissensus.schema.records.attempt import Attempt
from dissensus.stats.cluster_bootstrap import NO_INTERVAL

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


NO_REVIEWS = Advice(
    "No reviews were given; --reviews FILE adds them.",
    site='No attempt has been reviewed. A campaign of reviews is made on the page of the campaign: "Draw a sample".',
)
NO_TEXTS = Advice(
    "Examples of the regions are not shown, since they may offend or disturb; --text adds them, folded.",
    site="Examples of the regions are not shown, since they may offend or disturb; the page "
    '"Conversations" has every text.',
)
WORDS_WARNING = "words of red-teamers, who tried to make chatbots say harmful things; they may offend or disturb."
TEXTS_WARNING = "complete conversations in which people tried to make chatbots say harmful things."


def attempts_report(
    attempts: Sequence[Attempt],
    analysis: AttemptAnalysis,
    map_result: AttemptMap | str,
    *,
    text: bool = False,
    suppress_below: int = 0,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Document:
    """Make a report of red-team attempts."""
    sections = (
        _attempts(analysis),
        _success(analysis),
        _harmlessness(analysis),
        _people(analysis, suppress_below),
        _models(analysis),
        _tags(analysis),
        _reviewers(analysis),
        _map(attempts, map_result, seed=analysis.seed, text=text),
    )
    names = {section.name for section in sections if section.parts}
    overall = analysis.success[0].mean
    return Document(
        title=title or f"Report on {count_noun(analysis.n_attempts, 'red-team attempt')}",
        summary=(
            f"{count_noun(analysis.n_attempts, 'attempt')} by {count_noun(analysis.n_red_teamers, 'red-teamer')} "
            "to make a chatbot "
            f"say something harmful. A success is a rating of {analysis.success_from} or more, by the red-teamer."
        ),
        sizes=(
            Size("attempts", f"{analysis.n_attempts:,}"),
            Size("red-teamers", f"{analysis.n_red_teamers:,}"),
            Size("succeed", UNKNOWN if overall.estimate is None else format_percent(overall.estimate, 1)),
            Size("least harmlessness, mean", format_short(analysis.harmlessness[0].mean.estimate)),
            *([Size("reviews", f"{analysis.reviewed.n_reviews:,}")] if analysis.reviewed else []),
        ),
        sections=sections,
        command=command or "dissensus.report.attempts.attempts_report(…)",
        notes=(*notes, *analysis.notes, *(analysis.reviewed.notes if analysis.reviewed else ())),
        version=version("dissensus"),
        seed=analysis.seed,
        methods=tuple(method for method in METHODS if names & set(method.shown_by)),
        words=WORDS,
    )


def _attempts(analysis: AttemptAnalysis) -> Section:
    lead = "Number of attempts on each model."
    types = [cell.model_type for cell in analysis.harmlessness if cell.model_type and not cell.size]
    sizes = [cell.size for cell in analysis.harmlessness if cell.size and not cell.model_type]
    counts = {(cell.model_type, cell.size): cell.n_attempts for cell in analysis.harmlessness}
    lines = tuple(
        (escape_unprintable(kind or "all types"), *(f"{counts.get((kind, size), 0):,}" for size in (*sizes, None)))
        for kind in (*types, None)
    )
    most = max(
        (cell for cell in analysis.harmlessness if cell.model_type and cell.size), key=lambda cell: cell.n_attempts
    )
    table = ReportTable(
        name="attempts-by-model",
        title="Attempts by type and size of the model",
        reading=(
            f"Most are on {escape_unprintable(most.model_type or '')}, "
            f"{escape_unprintable(most.size or '')}: {most.n_attempts:,}."
        ),
        grids=(Grid(("", *(escape_unprintable(size or "") for size in sizes), "all sizes"), lines),),
    )
    return Section("attempts", "Attempts by model", lead, (table,))


def _success(analysis: AttemptAnalysis) -> Section:
    lead = "Share of attempts that succeeded, by the rating of the red-teamer."
    return _section("success", "Success by model", lead, lambda: figures.success(analysis))


def _harmlessness(analysis: AttemptAnalysis) -> Section:
    lead = (
        "Score of the worst response of each attempt by a preference model, and its relation to the ratings of "
        "red-teamers."
    )
    return _section(
        "harmlessness",
        "Harmlessness by model",
        lead,
        lambda: figures.harmlessness(analysis),
        lambda: figures.relation(
            analysis,
            analysis.relation,
            name="rating-and-harmlessness",
            title="Ratings and least harmlessness",
            measure="least harmlessness",
        ),
    )


def _people(analysis: AttemptAnalysis, suppress_below: int) -> Section:
    lead = "If a few people made most attempts, they dominate every number."
    if suppress_below:
        reason = f"It shows single red-teamers, and this report shows no fewer than {suppress_below} people together."
        return Section("people", "Concentration of attempts", lead, (), (reason,))
    return _section("people", "Concentration of attempts", lead, lambda: concentration(analysis.concentration))


def _models(analysis: AttemptAnalysis) -> Section:
    lead = "Effects of type and size, given the red-teamer, their origin, and the harmfulness of the plan."
    return _section("models", "Mixed models", lead, *(partial(mixed_model, model) for model in analysis.models))


def _tags(analysis: AttemptAnalysis) -> Section:
    lead = "Topics of the attempts, as tagged by reviewers."
    return _section("tags", "Tags", lead, lambda: figures.tags(analysis))


def _reviewers(analysis: AttemptAnalysis) -> Section:
    lead = "Agreement of reviewers with each other and with the red-teamer."
    name, title = "reviewers", "Reviewers and red-teamers"
    if analysis.reviewed is None:
        return Section(name, title, lead, (), (NO_REVIEWS,))
    reviews = analysis.reviewed
    return _section(
        name,
        title,
        lead,
        lambda: _agreement(analysis),
        lambda: figures.reviewers_success(analysis),
        lambda: figures.relation(
            analysis,
            reviews.relation,
            name="rating-and-reviewers",
            title="Ratings and reviewers",
            measure="mean of reviewers",
        ),
    )


def _agreement(analysis: AttemptAnalysis) -> ReportTable:
    reviews = analysis.reviewed
    assert reviews is not None  # noqa: S101 - the caller checks it
    lines = tuple(
        (
            f"{row.raters}, {row.scale}",
            row.coefficient,
            format_as_number(row.estimate),
            f"{row.estimate.n:,}",
        )
        for row in reviews.agreement
    )
    reasons = dict.fromkeys(
        f"{row.coefficient}, {row.raters}, {row.scale}: {explain_missing(row.estimate)}."
        for row in reviews.agreement
        if row.estimate.reason and (row.estimate.estimate is None or analysis.bootstrap)
    )
    return ReportTable(
        name="agreement",
        title="Agreement",
        reading=(
            f"{count_noun(reviews.n_reviews, 'review')} of {count_noun(reviews.n_attempts, 'attempt')} by "
            f"{count_noun(reviews.n_reviewers, 'reviewer')}."
        ),
        grids=(Grid(("raters, scale", "coefficient", "estimate and interval", "attempts"), lines),),
        notes=(
            "Intervals are for other red-teamers and their attempts, with the same reviewers.",
            "The red-team paper has Fleiss' kappa of .32 on five points and .49 for success or not with the red-teamer "
            "as one of four, and .55 for success or not among reviewers alone.",
            *reasons,
        ),
    )


def _map(attempts: Sequence[Attempt], map_result: AttemptMap | str, *, seed: int, text: bool) -> Section:
    lead = "Attempts by the words of the red-teamer, with the success of each region."
    name, title = "map", "Map of attempts"
    if isinstance(map_result, str):
        return Section(name, title, lead, (), (map_result,))
    parts: list[Part] = [attempt_map(map_result, seed=seed), _regions(map_result), _words(map_result)]
    if text:
        parts.append(_examples(attempts, map_result.regions))
    return Section(name, title, lead, tuple(parts), () if text else (NO_TEXTS,))


def _regions(layout: AttemptMap) -> ReportTable:
    lines = tuple(
        (f"region {region.number}", f"{region.n:,}", f"{region.n_red_teamers:,}", format_as_percent(region.success))
        for region in layout.regions
    )
    reasons = [
        f"Region {region.number}: {explain_missing(region.success)}."
        for region in layout.regions
        if region.success.reason not in ("", NO_INTERVAL)
    ]
    first = layout.regions[0]
    return ReportTable(
        name="regions",
        title="Regions of the map",
        reading=f"The largest has {format_percent(first.n / len(layout.indices))} of the attempts on the map.",
        grids=(Grid(("", "attempts", "red-teamers", "succeed"), lines),),
        notes=tuple(reasons[: figures.REASONS]),
    )


def _words(layout: AttemptMap) -> Disclosure:
    lines = tuple(
        (f"region {region.number}", escape_unprintable(", ".join(region.words) or UNKNOWN)) for region in layout.regions
    )
    return Disclosure(
        name="words",
        title="Most typical words of the regions",
        warning=WORDS_WARNING,
        grids=(Grid(("", "words that are more frequent there than elsewhere"), lines),),
    )


def _examples(attempts: Sequence[Attempt], regions: Sequence[Region]) -> Disclosure:
    passages = tuple(
        HiddenPassage(heading=_heading(region, index, attempts[index]), text=_text(attempts[index]))
        for region in regions
        for index in region.nearest
    )
    return Disclosure(name="examples", title="Attempts nearest to the middle", warning=TEXTS_WARNING, passages=passages)


def _heading(region: Region, index: int, attempt: Attempt) -> str:
    rating = "not rated" if attempt.rating is None else f"rated {attempt.rating}"
    model = f"{attempt.model_type or UNKNOWN_TYPE}, {attempt.num_params or UNKNOWN_SIZE}"
    return f"Region {region.number}, attempt {index + 1:,}: {model}, {rating}"


def _text(attempt: Attempt) -> str:
    return f"{attempt.task_description.strip()}\n\n{attempt.transcript.strip()}".strip()


def _section(name: str, title: str, lead: str, *makers: Callable[[], Part]) -> Section:
    parts = SectionParts()
    for make in makers:
        parts.add(make)
    return Section(name, title, lead, tuple(parts.parts), tuple(parts.absent))
