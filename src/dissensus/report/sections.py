"""Sections of a report in order, and reasons for those left out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

import numpy as np

from dissensus.errors import DissensusError, InvalidInput, NotFound, UndefinedEstimate
from dissensus.pipeline.aggregate import GoldAgainstCrowd, gold_against_crowd
from dissensus.pipeline.analyse import Analysis, AnalysisSettings, GroupDivergence, group_divergence
from dissensus.pipeline.analyse import rater_curve as compute_rater_curve
from dissensus.pipeline.analyse.table import run_analysis
from dissensus.pipeline.engine.ratings import IN_MEMORY, PartitionedRatings
from dissensus.pipeline.tables import escape_unprintable
from dissensus.pipeline.vet import Vetting, audit_flagged, vet
from dissensus.report.figure import Figure
from dissensus.report.figures.agreement import agreement, question_agreement
from dissensus.report.figures.answers import answers, questions
from dissensus.report.figures.contested_items import ContestedItem, list_contested_items
from dissensus.report.figures.divergence import divergence
from dissensus.report.figures.gold import gold
from dissensus.report.figures.item_attributes import item_attribute, item_gaps
from dissensus.report.figures.items import degree, topics
from dissensus.report.figures.labels import entropy, soft_labels
from dissensus.report.figures.null_distributions import null_distributions
from dissensus.report.figures.rater_curve import rater_curve
from dissensus.report.figures.rater_pairs import rater_pairs
from dissensus.report.figures.raters import raters
from dissensus.report.figures.removal import label_moves, removal
from dissensus.report.figures.times import times
from dissensus.report.figures.vetting import evidence
from dissensus.report.graphics.drawing_process import DrawingProcess
from dissensus.report.groups import DisplayedGroups, groups_of_axes, number_repeated_names
from dissensus.report.tables import Disclosure, ReportTable, dataset, group_table, pool, time_table
from dissensus.schema.advice import Advice, error_message
from dissensus.schema.ratings.columns import CROSS, GOLD, ITEM_TEXT, PLATINUM, REST, TEXTS
from dissensus.schema.ratings.table import Ratings

if TYPE_CHECKING:
    from dissensus.pipeline.model import MultilevelModel

Part = Figure | ReportTable | ContestedItem | Disclosure
# Random removals to compare a filter with, if nothing is permuted.
DRAWS = 1000
NUMBERS_OF_RATERS = 5  # Of a curve
CURVE_DRAWS = 100  # Of each number
FEWEST_RATERS = 4  # Of each group in a curve
# Most groups whose pairwise distances are computed: their number grows with the square.
MOST_COMPARED = 40
# Default answer that calls an item unsafe.
UNSAFE = "Yes"
NO_ITEM_ATTRIBUTES = "attributes of items are not read from a folder of Parquet files."
NOT_COMPUTED = f"not computed from a folder of Parquet files. {IN_MEMORY}"
NO_RATERS = "The ratings were read without raters, so sections that need rater ids are left out."

ORDER = (
    "raters",
    "items",
    "answers",
    "agreement",
    "chance",
    "distance",
    "gold",
    "labels",
    "contested",
    "model",
    "populations",
    "divided",
    "checks",
    "vetting",
    "filter",
)
"""Names of the sections, in the order of the page."""

NO_PERMUTATIONS: Final = Advice(
    "There are no permutations; --permutations 1000 adds the comparison with chance.",
    site='There are no permutations; "With tests and intervals" in the form of a new report adds the comparison with '
    "chance.",
)
NO_ITEMS: Final = Advice(
    "No items were requested; --contested 10 shows some.",
    site='No items were requested; the page "Items", sorted by disagreement, shows them.',
)
NO_TEXTS: Final = Advice(
    "The texts of the items are not read; --text-column COLUMN names theirs, or --items FILE joins them.",
    site='The texts of the items are not in the report; the page "Items" has them.',
)


@dataclass(frozen=True, slots=True)
class Section:
    """One section: title, lead, parts, and reasons for parts left out."""

    name: str
    title: str
    lead: str
    parts: tuple[Part, ...]
    absent: tuple[str, ...] = ()

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, those of single items too."""
        parts = (part.figure if isinstance(part, ContestedItem) else part for part in self.parts)
        return tuple(part for part in parts if isinstance(part, Figure))

    def finding(self, axis: str) -> str | None:
        """Return the reading of the figure on an axis, else of the first figure."""
        figures = [part for part in self.parts if isinstance(part, Figure)]
        on_axis = [figure for figure in figures if figure.axis == axis]
        return (on_axis or figures)[0].reading if figures else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Options of a report besides the settings of its analysis; see `build`."""

    exclude_flagged: bool = False
    suppress_below: int = 0
    gold: str | None = None
    unsafe: str | Sequence[str] | None = None
    contested: int = 10
    text: bool = True
    title: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportInput:
    """Input of all sections."""

    ratings: Ratings
    analysed: Ratings  # Without flagged raters, if they are excluded
    # The ratings in blocks of items; `ratings` and `analysed` then hold their raters alone
    blocks: PartitionedRatings | None = None
    settings: AnalysisSettings
    options: ReportOptions
    skipped: tuple[str, ...]  # Reason for each axis that is not shown by default
    model: "MultilevelModel | None" = None
    progress: Callable[[float], None] | None = None  # Called with the completed share of the analysis

    @property
    def question(self) -> str:
        """The question that is analysed."""
        return self.settings.question

    @property
    def counted(self) -> Ratings | PartitionedRatings:
        """The analysed ratings, in memory or in blocks of items."""
        return self.analysed if self.blocks is None else self.blocks

    @cached_property
    def analysis(self) -> Analysis:
        """The analysis, run when a section needs it."""
        analysis = run_analysis(self.counted, self.settings, progress=self.progress)
        self._check_against()
        return analysis

    def _check_against(self) -> None:
        """Refuse a reference group that is suppressed."""
        against = self.settings.against
        if any(against in groups.hidden for groups in self.all_groups):
            raise InvalidInput(
                f"{against} cannot be compared with: it has fewer than {self.options.suppress_below:,} raters, or "
                "would reveal another group. Name a larger group, or rest."
            )

    @cached_property
    def groups(self) -> tuple[DisplayedGroups, ...]:
        """The groups of every axis on which two or more may be shown."""
        return tuple(axis_groups for axis_groups in self.all_groups if len(axis_groups.listed) > 1)

    @cached_property
    def suppressed(self) -> tuple[str, ...]:
        """Reason for each suppressed axis."""
        reason = f"fewer than two groups have {self.options.suppress_below:,} raters or more and reveal no other group"
        return tuple(f"{groups.axis}: {reason}." for groups in self.all_groups if len(groups.listed) < 2)

    @cached_property
    def all_groups(self) -> tuple[DisplayedGroups, ...]:
        """The groups of every axis, suppressed ones included."""
        return self._groups_of(self.analysed)

    @cached_property
    def crossed_axes(self) -> tuple[tuple[str, str], ...]:
        """Pairs of axes whose raters are counted: the axis with the most groups, with each other one."""
        simple = [axis for axis in self.settings.axes if CROSS not in axis]
        main = max(simple, key=lambda axis: len(self.analysed.group_codes(axis)[1]), default="")
        return tuple((main, axis) for axis in simple if axis != main)

    def _groups_of(self, ratings: Ratings) -> tuple[DisplayedGroups, ...]:
        return groups_of_axes(
            ratings,
            self.settings.axes,
            beside=[CROSS.join(pair) for pair in self.crossed_axes],
            min_raters=self.settings.min_raters,
            suppress_below=self.options.suppress_below,
        )

    @cached_property
    def groups_with_flagged(self) -> tuple[DisplayedGroups, ...]:
        """Groups counted over all raters, flagged ones included; hidden if either count hides them."""
        return tuple(
            replace(everybody, hidden=everybody.hidden | analysed.hidden)
            for everybody, analysed in zip(self._groups_of(self.ratings), self.all_groups, strict=True)
            if len(analysed.listed) > 1
        )

    @property
    def why_no_groups(self) -> tuple[str, ...]:
        """Reason for leaving out all groups, if any."""
        if not self.analysed.has_raters:
            return (NO_RATERS,)
        return () if self.groups else (*self.skipped, *self.suppressed) or ("No attribute of raters is in the file.",)


class SectionParts:
    """The parts of a section, and reasons for parts left out."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.absent: list[str] = []

    def add(self, make: Callable[[], Part]) -> None:
        """Add a part, or the reason why the ratings do not support it."""
        try:
            self.parts.append(make())
        except (NotFound, UndefinedEstimate) as reason:
            self.absent.append(error_message(reason))


def build_sections(source: ReportInput, drawing: DrawingProcess | None = None) -> tuple[Section, ...]:
    """Return all sections in order, with unique figure names; a process draws figures meanwhile, if there is one."""
    sections = []
    for section in _sections(source):
        sections.append(replace(section, parts=number_figures(section.parts)))
        if drawing is not None:
            for figure in sections[-1].figures:
                figure.begin(drawing)
    return tuple(sorted(sections, key=lambda section: ORDER.index(section.name)))


def number_figures(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return parts with unique figure names: columns with similar names would share one."""
    names = iter(number_repeated_names([part.name for part in parts if isinstance(part, Figure)]))
    return tuple(replace(part, name=next(names)) if isinstance(part, Figure) else part for part in parts)


def _sections(source: ReportInput) -> Iterator[Section]:
    """Yield sections in such an order that there are figures to draw during the analysis and long computations."""
    for section in (_raters, _answers, _contested, _labels, _agreement, _chance, _items, _distance, _gold):
        yield section(source)
    yield from _multilevel(source)
    yield from _vetting_and_filter(source)


def _raters(source: ReportInput) -> Section:
    lead = "Counts of ratings, items and raters, and the raters of each group."
    parts: list[Part] = [dataset(source.blocks or source.ratings)]
    if not source.analysed.has_raters:
        return Section("raters", "Raters", lead, tuple(parts), (NO_RATERS,))
    if source.groups:
        parts.append(pool(source.ratings, source.groups_with_flagged))
    groups = {axis_groups.axis: axis_groups for axis_groups in source.groups}
    for rows, columns in source.crossed_axes:
        if rows in groups and columns in groups:
            parts.append(raters(source.analysed, groups[rows], groups[columns]))
    return Section("raters", "Raters", lead, tuple(parts), (*source.skipped, *source.suppressed))


def _items(source: ReportInput) -> Section:
    parts = SectionParts()
    if source.blocks is not None:
        parts.absent.append(f"Topics and degrees of harm are not shown: {NO_ITEM_ATTRIBUTES}")
    else:
        parts.add(lambda: topics(source.analysed))
        parts.add(lambda: degree(source.analysed))
    for attribute in source.settings.by_item:
        parts.add(partial(item_attribute, source.analysis, attribute))
        for groups in source.groups:
            parts.add(partial(item_gaps, source.analysis, attribute, groups))
    lead = "Topics of the conversations, and the degree of harm that experts gave them."
    return Section("items", "Items", lead, tuple(parts.parts), tuple(parts.absent))


def _answers(source: ReportInput) -> Section:
    parts: list[Part] = []
    if len(source.analysed.questions) > 1:
        parts.append(questions(source.analysed))
    if not source.groups:
        parts.append(answers(source.counted, question=source.question))
    parts += [answers(source.counted, groups, question=source.question) for groups in source.groups]
    lead = "Shares of the answers, of everybody and of each group."
    return Section("answers", "Answers", lead, tuple(parts), source.why_no_groups)


def _agreement(source: ReportInput) -> Section:
    reference = "everybody else" if source.settings.against == REST else source.settings.against
    lead = (
        f"How far people agree within each group, and with {escape_unprintable(reference)}, beyond what chance would "
        "give."
    )
    # Errors of the analysis are raised here: within a part they would be reasons for leaving it out.
    analysis, parts = source.analysis, SectionParts()
    parts.add(lambda: group_table(analysis, source.groups))
    for groups in source.groups:
        parts.add(partial(agreement, analysis, groups))
    if source.blocks is not None:
        parts.absent.append(f"The curve by the number of raters and the pairs of raters are {NOT_COMPUTED}")
    else:
        _add_curve_and_pairs(source, parts)
    absent = (*source.why_no_groups, *parts.absent)
    return Section("agreement", "Agreement within and between groups", lead, tuple(parts.parts), absent)


def _add_curve_and_pairs(source: ReportInput, parts: SectionParts) -> None:
    """Add the curve by the number of raters, the agreement on each question, and the pairs of raters."""
    if source.groups and source.settings.level == "nominal":
        parts.add(lambda: _curve(source))
    if len(source.analysed.questions) > 1:
        parts.add(lambda: question_agreement(source.analysed, level=source.settings.level))
    if source.analysed.has_raters:
        parts.add(lambda: _rater_pairs(source))


def _curve(source: ReportInput) -> Figure:
    """Return the curve by the number of raters on the axis with most groups, all of them large enough and shown."""
    usable = [groups for groups in source.groups if not groups.hidden and min(groups.sizes.values()) >= FEWEST_RATERS]
    if not usable:
        raise UndefinedEstimate(
            f"No curve by the number of raters: on every axis a group has fewer than {FEWEST_RATERS} raters or is left "
            "out."
        )
    groups = max(usable, key=lambda groups: len(groups.sizes))
    numbers = np.unique(np.linspace(2, min(groups.sizes.values()), NUMBERS_OF_RATERS).round().astype(int))
    return rater_curve(
        compute_rater_curve(
            source.analysed,
            numbers.tolist(),
            by=groups.axis,
            question=source.question,
            draws=CURVE_DRAWS,
            seed=source.settings.seed,
        )
    )


def _rater_pairs(source: ReportInput) -> Figure:
    groups = max(source.groups, key=lambda groups: len(groups.sizes), default=None)
    return rater_pairs(source.analysed, groups, question=source.question, suppress_below=source.options.suppress_below)


def _chance(source: ReportInput) -> Section:
    lead = (
        "Would people divided at random give such values? Each observed value stands over those of groups of the same "
        "sizes, drawn by chance."
    )
    parts = SectionParts()
    if source.groups and not source.settings.permutations:
        parts.absent.append(NO_PERMUTATIONS)
    else:
        for groups in source.groups:
            parts.add(partial(null_distributions, source.analysis, groups))
    return Section("chance", "Comparison with chance", lead, tuple(parts.parts), (*source.why_no_groups, *parts.absent))


def _distance(source: ReportInput) -> Section:
    lead = "How different the labels of an item would be if one group or another gave them."
    results = [(groups, _measure_distances(source, groups.axis)) for groups in source.groups]
    absent = [reason for _, reason in results if isinstance(reason, str)]
    figures = tuple(divergence(result, groups) for groups, result in results if not isinstance(result, str))
    return Section("distance", "Distance between groups", lead, figures, (*source.why_no_groups, *absent))


def _measure_distances(source: ReportInput, axis: str) -> GroupDivergence | str:
    """Return the distances between the groups of an axis, or the reason why there are none."""
    settings = source.settings
    n = len({row.group for row in source.analysis.rows if row.axis == axis and row.group is not None})
    if n > MOST_COMPARED:
        return f"{axis}: {n:,} groups are too many to compare two by two."
    try:
        return group_divergence(
            source.counted,
            axis,
            question=settings.question,
            permutations=settings.permutations,
            permute_within=settings.permute_within,
            seed=settings.seed,
        )
    except UndefinedEstimate as reason:
        return error_message(reason)


def _gold(source: ReportInput) -> Section:
    lead = "Items that experts call unsafe and most raters do not, and the reverse. Neither is the ground truth."
    name, title = "gold", "Experts and the crowd"
    if source.blocks is not None:
        return Section(name, title, lead, (), (f"Labels of experts are not compared: {NO_ITEM_ATTRIBUTES}",))
    try:
        everybody = _compare_with_gold(source, None, intervals=not source.groups)
    except DissensusError as reason:
        unsafe_of_gold = source.options.unsafe is not None and GOLD in source.analysed.items.columns
        if source.options.gold is not None or unsafe_of_gold:
            raise
        return Section(name, title, lead, (), (error_message(reason),))
    comparisons = [(groups, _compare_with_gold(source, groups.axis)) for groups in source.groups]
    figures = tuple(gold(comparison, groups) for groups, comparison in comparisons) or (gold(everybody),)
    return Section(name, title, lead, (*figures, *_by_platinum(source)))


def _by_platinum(source: ReportInput) -> Iterator[Figure]:
    """Yield the comparison by labels of an earlier crowd, for items that have both labels."""
    items, label = source.analysed.items, source.options.gold or GOLD
    if PLATINUM in items.columns and label != PLATINUM and items.select(label, PLATINUM).drop_nulls().height:
        yield gold(_compare_with_gold(source, PLATINUM))


def _compare_with_gold(source: ReportInput, by: str | None, *, intervals: bool = True) -> GoldAgainstCrowd:
    settings = source.settings
    return gold_against_crowd(
        source.analysed,
        source.question,
        gold=source.options.gold or GOLD,
        by=by,
        unsafe=source.options.unsafe or UNSAFE,
        bootstrap=settings.bootstrap if intervals else 0,
        confidence=settings.confidence,
        seed=settings.seed,
    )


def _labels(source: ReportInput) -> Section:
    lead = "Every item has a soft label, the shares of its answers. Where they are even, people disagree most."
    parts = SectionParts()
    parts.add(lambda: soft_labels(source.counted, question=source.question))
    parts.add(lambda: entropy(source.counted, question=source.question))
    return Section("labels", "Labels of the items", lead, tuple(parts.parts), tuple(dict.fromkeys(parts.absent)))


def _contested(source: ReportInput) -> Section:
    lead = "The items with the most even spread of answers, with the answers of each group."
    options = source.options
    try:
        most = list_contested_items(
            source.counted, source.groups, question=source.question, n=options.contested, text=options.text
        )
    except UndefinedEstimate as reason:
        return Section("contested", "Contested items", lead, (), (error_message(reason),))
    return Section("contested", "Contested items", lead, most, tuple(_explain_no_contested(source, most)))


def _explain_no_contested(source: ReportInput, most: Sequence[ContestedItem]) -> Iterator[str]:
    if not source.options.contested:
        yield NO_ITEMS
    elif not most:
        yield "On no item do answers differ."
    elif source.blocks is not None:
        yield f"The texts of the items are not shown: {NO_ITEM_ATTRIBUTES}"
    elif not any(name in TEXTS or name.startswith(ITEM_TEXT) for name in source.analysed.items.columns):
        yield NO_TEXTS


def _multilevel(source: ReportInput) -> Iterator[Section]:
    """Yield the sections on the multilevel model, if one was fitted."""
    model = source.model
    if model is None:
        return
    # Imported here, since the modules of models take as long to load as a tenth of a report without one.
    from dissensus.report.figures.multilevel import divided_items, predicted_shares, predictive_checks
    from dissensus.report.multilevel import check_comparison, divided_item_texts, label_change_table, label_change_texts

    yield _model(model)
    if model.predictions is not None and model.predictions.labels:
        lead = (
            "What populations would say that have other shares of groups than the raters: multilevel regression and "
            "poststratification."
        )
        parts = SectionParts()
        parts.add(lambda: predicted_shares(model, None))
        parts.add(lambda: label_change_table(model))
        if source.options.text and model.predictions.changed:
            parts.add(lambda: label_change_texts(source.analysed, model))
        yield Section(
            "populations",
            "Labels of populations",
            lead,
            tuple(parts.parts),
            tuple(parts.absent),
        )
    if (details := model.details) is None:
        return
    divided, checks = SectionParts(), SectionParts()
    divided.add(lambda: divided_items(model))
    if source.options.text and details.divided_items:
        divided.add(lambda: divided_item_texts(source.analysed, model))
    lead = "Items on which groups would answer differently, shrunk towards the difference on the average item."
    yield Section("divided", "Divided items", lead, tuple(divided.parts), tuple(divided.absent))
    checks.add(lambda: predictive_checks(model))
    checks.add(lambda: check_comparison(model, details))
    lead = "New answers that the model predicts for the same raters and items, against those observed."
    yield Section("checks", "Checks of the model", lead, tuple(checks.parts), tuple(checks.absent))


def _model(model: "MultilevelModel") -> Section:
    from dissensus.report.figures.multilevel import effects, predicted_shares
    from dissensus.report.multilevel import estimates, model_warnings, reliability, term_tests, variance_shares

    parts = SectionParts()
    if model.warnings:
        parts.add(lambda: model_warnings(model))
    parts.add(lambda: effects(model))
    shares = model.predictions.shares if model.predictions else ()
    for axis in dict.fromkeys(row.axis for row in shares if row.axis is not None):
        parts.add(partial(predicted_shares, model, axis))
    parts.add(lambda: estimates(model))
    if (details := model.details) is not None:
        parts.add(lambda: term_tests(details))
        parts.add(lambda: variance_shares(model, details))
        parts.add(lambda: reliability(model, details))
    lead = "Who answers higher, all else being equal, and how far raters and items differ beyond that."
    return Section("model", "Multilevel model", lead, tuple(parts.parts), tuple(parts.absent))


def _vetting_and_filter(source: ReportInput) -> Iterator[Section]:
    """Yield the evidence on raters, and the audit of the filter on it."""
    care_lead = "Signs of careless ratings. A sign is not a proof: a rater who differs from all others may be sincere."
    filter_lead = "Raters removed by a filter of careless raters, and the resulting shift of labels."
    names = ("vetting", "Care of raters", care_lead), ("filter", "Effect of the filter", filter_lead)
    if not source.analysed.has_raters:
        yield from (Section(*name, (), (NO_RATERS,)) for name in names)
        return
    simple = [groups.axis for groups in source.groups if CROSS not in groups.axis]
    vetting = vet(source.blocks or source.ratings, question=source.question, by=simple)
    care = SectionParts()
    care.add(lambda: evidence(vetting))
    care.add(lambda: time_table(vetting, [groups for groups in source.groups_with_flagged if CROSS not in groups.axis]))
    care.add(lambda: times(vetting))
    yield Section(*names[0], tuple(care.parts), tuple(care.absent))
    yield Section(*names[1], *_filter(source, vetting, simple))


def _filter(source: ReportInput, vetting: Vetting, axes: list[str]) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    settings = source.settings
    if source.blocks is not None:
        return (), (f"The effect of a filter of raters is {NOT_COMPUTED}",)
    try:
        audit = audit_flagged(
            source.ratings, vetting, by=axes, draws=settings.permutations or DRAWS, seed=settings.seed
        )
    except InvalidInput as reason:
        return (), (error_message(reason),)
    if audit is None:
        return (), ("The file flags no rater and none meets a criterion, so there is no filter to audit.",)
    parts = SectionParts()
    simple = [groups for groups in source.groups_with_flagged if CROSS not in groups.axis]
    if simple:
        parts.add(lambda: removal(audit, simple))
    parts.add(lambda: label_moves(audit))
    return tuple(parts.parts), tuple(parts.absent)
