"""Scorecard of models that score items, for groups of raters."""

from dataclasses import asdict, dataclass
from typing import Any

from dissensus.pipeline.score.model_display import model_scorecard_page
from dissensus.pipeline.score.model_rows import BinRow, DifferenceRow, RankRow, ThresholdRow
from dissensus.pipeline.score.rows import ScoreRow
from dissensus.pipeline.score.scorecard import Scorecard
from dissensus.pipeline.score.settings import ModelSettings
from dissensus.pipeline.tables import Page
from dissensus.schema.hints import count_noun


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelScorecard(Scorecard):
    """Scorecard of models against groups of raters; printed as tables.

    Parameters
    ----------
    rows
        Statistics of each model against the pool, each group, and gold: brier, squared_distance, cross_entropy, auc,
        bias, error, miss_rate, false_alarm_rate, error_unanimous, error_split, manhattan, calibration_error and
        calibration_error_by_chance.
    ceilings
        Statistics that people reach, whose `model` is "perfect score" (disagreement within the group alone), "rest of
        group" (each rating predicted by the item's other ratings), "everybody else" (by all raters outside of the
        group) or "gold"; and the share of unsafe answers, without a model.
    ranks, differences
        Leaderboard of each group, and paired differences of each two models.
    thresholds, bins
        Errors by threshold, and calibration.
    settings
        Settings that reproduce the result with the same ratings and scores.
    """

    ceilings: tuple[ScoreRow, ...] = ()
    ranks: tuple[RankRow, ...] = ()
    differences: tuple[DifferenceRow, ...] = ()
    thresholds: tuple[ThresholdRow, ...] = ()
    bins: tuple[BinRow, ...] = ()
    settings: ModelSettings

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        names = ("ceilings", "ranks", "differences", "thresholds", "bins")
        return {
            **Scorecard.to_dict(self),
            **{name: [asdict(row) for row in getattr(self, name)] for name in names},
        }

    def page(self) -> Page:
        """Return the scorecard as tables."""
        return model_scorecard_page(
            self._summary(), (*self.rows, *self.ceilings), self.ranks, self.gaps, self.settings, self._notes()
        )

    def _summary(self) -> str:
        return (
            f"{count_noun(len(self.settings.models), 'model')} against {count_noun(self.n_ratings, 'rating')} of "
            f"{count_noun(self.n_items, 'item')} by {count_noun(self.n_raters, 'rater')}; unsafe: "
            f"{' or '.join(self.settings.unsafe)}; labelled unsafe from {self.settings.threshold:g} on."
        )
