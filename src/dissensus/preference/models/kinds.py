"""Kinds of preference models."""

from typing import Final, Literal, get_args

from dissensus.preference.models.embedding import Embedding
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.linear import Linear
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.transformer.model import Transformer

KindOfModel = Literal["linear", "mean-variance", "groups", "embedding"]
KINDS: Final[tuple[str, ...]] = get_args(KindOfModel)
"""Kinds that `train` fits; transformers have a function of their own."""

AnyModel = Linear | MeanVariance | Groups | Embedding | Transformer
