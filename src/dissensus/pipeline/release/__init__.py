"""Release: collected data in their published form."""

from dissensus.pipeline.release.pairs import RaterStrength, ReleasedPair, ReleasedPairs, released_pairs
from dissensus.pipeline.release.policy import PairPolicy

__all__ = ["PairPolicy", "RaterStrength", "ReleasedPair", "ReleasedPairs", "released_pairs"]
