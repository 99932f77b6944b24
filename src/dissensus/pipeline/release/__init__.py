"""Release: collected data in their published form."""

from dissensus.pipeline.release.pairs import released_pairs
from dissensus.pipeline.release.policy import PairPolicy
from dissensus.pipeline.release.result import RaterStrength, ReleasedPair, ReleasedPairs

__all__ = ["PairPolicy", "RaterStrength", "ReleasedPair", "ReleasedPairs", "released_pairs"]
