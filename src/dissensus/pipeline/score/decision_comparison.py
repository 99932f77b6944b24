"""Comparison of decisions: the items that each rule blocks, and whom it overrules."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from dissensus.pipeline.score.decision_rules import RULES
from dissensus.pipeline.score.display import explain_rows, format_cell, gap_grids
from dissensus.pipeline.score.scorecard import Scorecard
from dissensus.pipeline.score.settings import DecisionSettings
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable, format_short
from dissensus.schema.hints import count_noun, format_list
from dissensus.schema.jury import describe_seats

OVERRULED: Final = "overruled"
POOL_COLUMNS: Final = {
    "overruled": "overruled (%)",
    "blocked_though_safe": "blocked, safe (%)",
    "passed_though_unsafe": "passed, unsafe (%)",
}
"""Titles of the columns of the overview by metric."""
UNDECIDED_ITEM: Final = {"jury": "a rater for each seat"}
"""What an undecided item lacks, by rule."""
UNDECIDED_RATING: Final = {"jury": "the other raters do not fill all seats"}
"""Why no decision is made without the rater, by rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Decisions on all items by one rule at one ratio of costs.

    Parameters
    ----------
    name
        Name of rule, axis, population or model, and costs where several are compared.
    rule
        The rule.
    block_cost, miss_cost
        Cost of blocking an item that is safe, and of letting one through that is not.
    n_blocked
        Number of items blocked.
    n_undecided
        Number of items without an answer to decide on, or a rater for each seat of a jury, which are not blocked.
    n_lone_ratings
        Number of ratings on whose item the others do not allow a decision: none overrules them.
    changed_items
        Ids of items on which the decision differs from the first one.
    blocked_items
        Ids of items blocked.
    """

    name: str
    rule: str
    block_cost: float
    miss_cost: float
    n_blocked: int
    n_undecided: int = 0
    n_lone_ratings: int = 0
    changed_items: tuple[str, ...]
    blocked_items: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DecisionComparison(Scorecard):
    """Comparison of decisions, none of which is recommended; printed as tables.

    Parameters
    ----------
    decisions
        Items blocked by each rule at each ratio of costs.
    rows
        For the pool and each group, with the name of a decision as `model`: blocked (share of items), overruled (share
        of ratings that the decision contradicts), its parts blocked_though_safe and passed_though_unsafe, and cost
        (mean cost of a rating). Each rating is judged by the decision that the rule makes without its rater.
    gaps
        Gap of overruled between groups; without numbers for rules over groups and populations.
    settings
        Settings that reproduce the result.
    """

    decisions: tuple[Decision, ...]
    settings: DecisionSettings

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**Scorecard.to_dict(self), "decisions": [asdict(decision) for decision in self.decisions]}

    def page(self) -> Page:
        """Return the comparison as tables."""
        notes = (
            *self.explain_rules(),
            *self.explain_decisions(),
            *explain_rows(self.rows, self.gaps, self.settings),
            *self._notes(),
        )
        return Page(self._summary(), (self.overview(), *self.group_grids(), *gap_grids(self.gaps)), notes)

    def _summary(self) -> str:
        return (
            f"{count_noun(len(self.decisions), 'decision')} about {count_noun(self.n_items, 'item')} by "
            f"{count_noun(self.n_ratings, 'rating')} of {count_noun(self.n_raters, 'rater')}; unsafe: "
            f"{' or '.join(self.settings.unsafe)}. None is recommended."
        )

    def overview(self) -> Grid:
        """Return a line for each decision: items blocked and changed, and ratings of everybody overruled."""
        pool = {(row.model, row.metric): row for row in self.rows if row.axis is None}
        lines = tuple(
            (
                escape_unprintable(decision.name),
                f"{decision.n_blocked:,}",
                f"{len(decision.changed_items):,}",
                *(format_cell(pool[decision.name, metric]) for metric in POOL_COLUMNS),
                format_short(pool[decision.name, "cost"].estimate, 3),
            )
            for decision in self.decisions
        )
        return Grid(("decision", "blocked", "changed", *POOL_COLUMNS.values(), "cost"), lines)

    def group_grids(self) -> Iterator[Grid]:
        """Yield a table for each axis: the share of each group's ratings that each decision overrules."""
        for axis in self.settings.axes:
            rows = {(row.model, row.group): row for row in self.rows if row.axis == axis and row.metric == OVERRULED}
            groups = tuple(dict.fromkeys(group for _, group in rows))
            lines = []
            for decision in self.decisions:
                own = (rows.get((decision.name, group)) for group in groups)
                lines.append(
                    (escape_unprintable(decision.name), *(UNKNOWN if row is None else format_cell(row) for row in own))
                )
            yield Grid((f"overruled (%) · {axis}", *(escape_unprintable(str(group)) for group in groups)), tuple(lines))

    def explain_rules(self) -> Iterator[str]:
        """Yield the condition on which each rule blocks an item."""
        yield from (f"{rule}: blocks an item if {RULES[rule]}." for rule in self.rules)

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the compared rules."""
        return tuple(dict.fromkeys(decision.rule for decision in self.decisions))

    def explain_decisions(self) -> Iterator[str]:
        """Yield the seats, the costs with their thresholds, and the items on which decisions differ."""
        if self.settings.seats:
            yield f"Seats of the jury: {describe_seats(self.settings.seats)}."
        yield "Overruled: each rating by the decision that the rule makes without the answers of its rater."
        ratios = ", ".join(f"{costs} from {costs.threshold:.2f}" for costs in self.settings.costs)
        yield f"Costs of blocking what is safe : of letting through what is not, and the threshold: {ratios}."
        for decision in self.decisions:
            if decision.n_undecided:
                need = UNDECIDED_ITEM.get(decision.rule, "an answer to decide on")
                yield f"{decision.name}: {count_noun(decision.n_undecided, 'item')} without {need}; not blocked."
            if decision.n_lone_ratings:
                rest = UNDECIDED_RATING.get(decision.rule, "nobody else gave an answer to decide on")
                yield (
                    f"{decision.name}: {count_noun(decision.n_lone_ratings, 'rating')} on whose item {rest}; "
                    "overruled by nobody, and left out."
                )
        first, *others = self.decisions
        changed = list(dict.fromkeys(item for decision in others for item in decision.changed_items))
        if changed:
            yield f"Changed: differs from {first.name}; {len(changed):,} items in all: {format_list(changed)}."
