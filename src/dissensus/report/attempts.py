"""A report of red-team attempts: who succeeds against which model, and with what."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version

from dissensus.pipeline.analyse.attempts import AttemptAnalysis, AttemptMap, Region
from dissensus.pipeline.tables import UNKNOWN, Grid, escape_unprintable, format_short
from dissensus.report.attempts_methods import METHODS, WORDS
from dissensus.report.disclosure import Disclosure, HiddenPassage
from dissensus.report.figures import attempts as figures
from dissensus.report.figures.attempt_map import attempt_map
from dissensus.report.figures.concentration import concentration
from dissensus.report.figures.means import explain_missing, format_as_number, format_as_percent
from dissensus.report.figures.mixed_model import mixed_model
from dissensus.report.groups import format_count, format_percent
from dissensus.report.result import Document, Size
from dissensus.report.sections import Part, Section, SectionParts
from dissensus.report.tables import ReportTable
from dissensus.schema.records.attempt import Attempt
from dissensus.stats.clustered import NOT_DRAWN

NO_REVIEWS = "No reviews were given; --reviews FILE adds what others say of the attempts."
NO_TEXTS = "Examples of the regions are not shown, since they may offend or disturb; --text adds them, folded."
WORDS_WARNING = "words of red-teamers, who tried to make chatbots say harmful things; they may offend or disturb."
TEXTS_WARNING = "whole conversations in which people tried to make chatbots say harmful things, as they are."


def attempts_report(
    attempts: Sequence[Attempt],
    found: AttemptAnalysis,
    laid_out: AttemptMap | str,
    *,
    text: bool = False,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Document:
    """Make a report of red-team attempts."""
    made = (
        _attempts(found),
        _success(found),
        _harmlessness(found),
        _people(found),
        _models(found),
        _tags(found),
        _reviewers(found),
        _map(attempts, laid_out, seed=found.seed, text=text),
    )
    names = {section.name for section in made if section.parts}
    whole = found.success[0].mean
    return Document(
        title=title or f"What {format_count(found.n_attempts, 'red-team attempt')} found",
        summary=(
            f"{format_count(found.n_attempts, 'attempt')} by {format_count(found.n_red_teamers, 'red-teamer')} "
            "to make a chatbot "
            f"say something harmful. A success is a rating of {found.success_from} or more, by the red-teamer."
        ),
        sizes=(
            Size("attempts", f"{found.n_attempts:,}"),
            Size("red-teamers", f"{found.n_red_teamers:,}"),
            Size("succeed", UNKNOWN if whole.estimate is None else format_percent(whole.estimate, 1)),
            Size("least harmlessness, mean", format_short(found.harmlessness[0].mean.estimate)),
            *([Size("reviews", f"{found.reviewed.n_reviews:,}")] if found.reviewed else []),
        ),
        sections=made,
        command=command or "dissensus.report.attempts.attempts_report(…)",
        notes=(*notes, *found.notes, *(found.reviewed.notes if found.reviewed else ())),
        version=version("dissensus"),
        seed=found.seed,
        methods=tuple(method for method in METHODS if names & set(method.shown_by)),
        words=WORDS,
    )


def _attempts(found: AttemptAnalysis) -> Section:
    lead = "How many attempts there are on each model."
    types = [cell.model_type for cell in found.harmlessness if cell.model_type and not cell.size]
    sizes = [cell.size for cell in found.harmlessness if cell.size and not cell.model_type]
    counts = {(cell.model_type, cell.size): cell.n_attempts for cell in found.harmlessness}
    lines = tuple(
        (escape_unprintable(kind or "all types"), *(f"{counts.get((kind, size), 0):,}" for size in (*sizes, None)))
        for kind in (*types, None)
    )
    most = max((cell for cell in found.harmlessness if cell.model_type and cell.size), key=lambda cell: cell.n_attempts)
    table = ReportTable(
        name="attempts-by-model",
        title="Attempts by type and size of the model",
        reading=(
            f"Most are on {escape_unprintable(most.model_type or '')}, "
            f"{escape_unprintable(most.size or '')}: {most.n_attempts:,}."
        ),
        grids=(Grid(("", *(escape_unprintable(size or "") for size in sizes), "all sizes"), lines),),
    )
    return Section("attempts", "What was tried on whom", lead, (table,))


def _success(found: AttemptAnalysis) -> Section:
    lead = "How often red-teamers say that they made the chatbot say something harmful."
    return _section("success", "Who succeeds against which model", lead, lambda: figures.success(found))


def _harmlessness(found: AttemptAnalysis) -> Section:
    lead = "What a preference model says of the worst response of each attempt, and whether red-teamers agree with it."
    return _section(
        "harmlessness",
        "How harmless responses stay",
        lead,
        lambda: figures.harmlessness(found),
        lambda: figures.relation(
            found,
            found.relation,
            name="rating-and-harmlessness",
            title="Ratings and least harmlessness",
            what="least harmlessness",
        ),
    )


def _people(found: AttemptAnalysis) -> Section:
    lead = "Whether a few people made most attempts, whose ways then weigh most in every number."
    return _section("people", "Who made the attempts", lead, lambda: concentration(found.concentration))


def _models(found: AttemptAnalysis) -> Section:
    lead = "What type and size change, given who tried, how harmful the plan was, and where the red-teamer came from."
    return _section(
        "models", "Type and size, given the person", lead, *(partial(mixed_model, of) for of in found.models)
    )


def _tags(found: AttemptAnalysis) -> Section:
    lead = "What reviewers say that attempts are about."
    return _section("tags", "What attempts are about", lead, lambda: figures.tags(found))


def _reviewers(found: AttemptAnalysis) -> Section:
    lead = "What others see, beside each other and beside the red-teamer."
    name, title = "reviewers", "Reviewers and red-teamers"
    if found.reviewed is None:
        return Section(name, title, lead, (), (NO_REVIEWS,))
    of = found.reviewed
    return _section(
        name,
        title,
        lead,
        lambda: _agreement(found),
        lambda: figures.reviewers_success(found),
        lambda: figures.relation(
            found, of.relation, name="rating-and-reviewers", title="Ratings and reviewers", what="mean of reviewers"
        ),
    )


def _agreement(found: AttemptAnalysis) -> ReportTable:
    of = found.reviewed
    assert of is not None  # noqa: S101 - what the caller promises
    lines = tuple(
        (
            f"{row.raters}, {row.scale}",
            row.coefficient,
            format_as_number(row.estimate),
            f"{row.estimate.n:,}",
        )
        for row in of.agreement
    )
    reasons = dict.fromkeys(
        f"{row.coefficient}, {row.raters}, {row.scale}: {explain_missing(row.estimate)}."
        for row in of.agreement
        if row.estimate.reason and (row.estimate.estimate is None or found.bootstrap)
    )
    return ReportTable(
        name="agreement",
        title="How far they agree",
        reading=(
            f"{format_count(of.n_reviews, 'review')} of {format_count(of.n_attempts, 'attempt')} by "
            f"{format_count(of.n_reviewers, 'reviewer')}."
        ),
        grids=(Grid(("who, on which scale", "coefficient", "estimate and interval", "attempts"), lines),),
        notes=(
            "Intervals are for other red-teamers and their attempts, with the same reviewers.",
            "The red-team paper has Fleiss' kappa of .32 on five points and .49 for success or not with the red-teamer "
            "as one of four, and .55 for success or not among reviewers alone.",
            *reasons,
        ),
    )


def _map(attempts: Sequence[Attempt], laid_out: AttemptMap | str, *, seed: int, text: bool) -> Section:
    lead = "Attempts by the words of the red-teamer: what is tried often, and what works."
    name, title = "map", "A map of attempts"
    if isinstance(laid_out, str):
        return Section(name, title, lead, (), (laid_out,))
    parts: list[Part] = [attempt_map(laid_out, seed=seed), _regions(laid_out), _words(laid_out)]
    if text:
        parts.append(_examples(attempts, laid_out.regions))
    return Section(name, title, lead, tuple(parts), () if text else (NO_TEXTS,))


def _regions(laid_out: AttemptMap) -> ReportTable:
    lines = tuple(
        (f"region {of.number}", f"{of.n:,}", f"{of.n_red_teamers:,}", format_as_percent(of.success))
        for of in laid_out.regions
    )
    reasons = [
        f"Region {of.number}: {explain_missing(of.success)}."
        for of in laid_out.regions
        if of.success.reason not in ("", NOT_DRAWN)
    ]
    first = laid_out.regions[0]
    return ReportTable(
        name="regions",
        title="Regions of the map",
        reading=f"The largest has {format_percent(first.n / len(laid_out.places))} of the attempts on the map.",
        grids=(Grid(("", "attempts", "red-teamers", "succeed"), lines),),
        notes=tuple(reasons[: figures.REASONS]),
    )


def _words(laid_out: AttemptMap) -> Disclosure:
    lines = tuple(
        (f"region {of.number}", escape_unprintable(", ".join(of.words) or UNKNOWN)) for of in laid_out.regions
    )
    return Disclosure(
        name="words",
        title="Most typical words of the regions",
        warning=WORDS_WARNING,
        grids=(Grid(("", "words that are there more often than elsewhere"), lines),),
    )


def _examples(attempts: Sequence[Attempt], regions: Sequence[Region]) -> Disclosure:
    passages = tuple(
        HiddenPassage(heading=_heading(region, place, attempts[place]), text=_text(attempts[place]))
        for region in regions
        for place in region.nearest
    )
    return Disclosure(name="examples", title="Attempts nearest to the middle", warning=TEXTS_WARNING, passages=passages)


def _heading(region: Region, place: int, attempt: Attempt) -> str:
    rating = "not rated" if attempt.rating is None else f"rated {attempt.rating}"
    return f"Region {region.number}, attempt {place + 1:,}: {attempt.model_type}, {attempt.num_params}, {rating}"


def _text(attempt: Attempt) -> str:
    return f"{attempt.task_description.strip()}\n\n{attempt.transcript.strip()}".strip()


def _section(name: str, title: str, lead: str, *make: Callable[[], Part]) -> Section:
    parts = SectionParts()
    for one in make:
        parts.add(one)
    return Section(name, title, lead, tuple(parts.made), tuple(parts.absent))
