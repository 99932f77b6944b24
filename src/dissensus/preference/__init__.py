"""Preference models: which of two answers people would choose, learned from pairs of which they chose one.

Names are resolved when they are first used; type checkers read the same names from `__init__.pyi`.

Examples
--------
>>> import dissensus as ds
>>> pairs = [
...     ds.preference.Pair((ds.Turn("human", f"How is {thing} done?"),), f"Not {thing}, please.", f"Sure, {thing}!")
...     for thing in "abcdefgh"
... ]
>>> model = ds.preference.train(pairs, purpose="harmless")
>>> bool(model.margins(pairs).min() > 0)
True
"""

from dissensus.lazily import resolver

_HOMES = {
    "attempts": ("Scores", "scored", "scores_of"),
    "counting": ("Counting",),
    "embedding": ("Embedding",),
    "encoder": ("Encoded", "Encoder"),
    "evaluation": ("Evaluation", "evaluate"),
    "groups": ("Groups", "Spread"),
    "linear": ("Linear",),
    "mean_variance": ("MeanVariance", "Opinion"),
    "mini_lm": ("minilm",),
    "model": ("Model", "check_purpose"),
    "paired": ("Comparison", "compare"),
    "pairs": ("Pair",),
    "promotion": ("Dealt", "Judgement", "Rule", "deal", "judge"),
    "ranking": ("Comparisons", "Ranking", "rank"),
    "training": ("Plan", "cross_validate", "train"),
    "transformer.model": ("Transformer",),
    "transformer.plan": ("TransformerPlan",),
    "transformer.training": ("train_transformer",),
    "votes": ("Votes", "votes_of"),
}
__all__, __getattr__ = resolver(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
