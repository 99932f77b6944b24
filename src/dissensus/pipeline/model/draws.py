"""Draws of a fitted model that all count the same, and how well they approximate the exact distribution."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.pipeline.tables import format_short
from dissensus.stats.multilevel.fit import OrdinalFit
from dissensus.stats.multilevel.importance import ImportanceWeights
from dissensus.stats.multilevel.posterior import PosteriorDraws

MOST_EFFECTS: Final = 50_000_000
"""Drawn random effects that are kept, 400 MB, beyond which there are fewer draws."""
FEWEST_DRAWS: Final = 26
SMALLEST_SHARE: Final = 0.25
"""Share of the draws that weighted ones must be worth to be better than unweighted ones."""
LARGEST_K: Final = 0.7
"""Pareto k above which importance weights have no useful mean (Vehtari et al. 2024)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelDraws:
    """Draws of a model; `importance` are the weights towards the exact distribution, by which they may be resampled."""

    draws: PosteriorDraws
    importance: ImportanceWeights
    is_resampled: bool
    n_expected: int

    def __len__(self) -> int:
        return len(self.draws.thresholds)

    def describe(self) -> Iterator[str]:
        """Yield how many draws there are, and how they approximate the distribution of parameters and effects."""
        if len(self) < self.n_expected and not self.importance.is_exact:
            yield (
                f"Predicted shares rest on {len(self):,} draws instead of {self.n_expected:,}, as the model has many "
                "random effects."
            )
        if self.importance.is_exact:
            yield "Predicted shares rest on the draws of the sampler."
        elif self.is_resampled:
            yield "Predicted shares have draws that are weighted towards the exact distribution."
        else:
            yield (
                "Predicted shares rest on a normal approximation of parameters and effects: draws weighted towards the "
                f"exact distribution would be worth {self.importance.effective_draws:.0f} of "
                f"{len(self.importance.weights)} independent ones."
            )

    def describe_order(self) -> str:
        """Return how far the order of items by a probability is that of these draws."""
        n = self.importance.effective_draws if self.is_resampled else len(self)
        return (
            f"Probabilities and false sign rates of items rest on {n:.0f} draws, and are known to within "
            f"{format_short(n**-0.5)}: the order of items that are closer is by chance. More draws (--draws; in "
            "Python: draws=) tell them apart."
        )

    def warn(self) -> Iterator[str]:
        """Yield a warning if the weights show that the approximation may be poor."""
        if self.importance.pareto_k > LARGEST_K:
            yield (
                "The normal approximation behind predicted shares may be poor: the Pareto k of weights towards the "
                f"exact distribution is {self.importance.pareto_k:.2f}. Intervals may be too narrow; more ratings of "
                "each rater and item, or a model with fewer terms, help."
            )


def draw_model(fit: OrdinalFit, n_draws: int, rng: np.random.Generator) -> ModelDraws:
    """Draw parameters and effects, weighted towards the exact distribution where that leaves enough of them."""
    n_drawn = min(n_draws, max(FEWEST_DRAWS, MOST_EFFECTS // sum(term.modes.size for term in fit.random)))
    draws = fit.approximation.draw(min(n_drawn, fit.approximation.most_draws), rng)
    share = draws.importance.effective_draws / len(draws.thresholds)
    is_resampled = draws.importance.is_reliable and share >= SMALLEST_SHARE
    return ModelDraws(
        draws=draws.resample(rng) if is_resampled else draws,
        importance=draws.importance,
        is_resampled=is_resampled,
        n_expected=n_draws,
    )
