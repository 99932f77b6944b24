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

from dissensus._lazy import resolver

_HOMES = {
    "evaluation.attempt_scores": ("Scores", "scored", "scores_of"),
    "data.weighting": ("Counting",),
    "models.embedding": ("Embedding",),
    "models.encoder": ("Encoded", "Encoder"),
    "evaluation.accuracy": ("Evaluation", "evaluate"),
    "models.groups": ("Groups", "Spread"),
    "models.linear": ("Linear",),
    "models.mean_variance": ("MeanVariance", "Opinion"),
    "models.mini_lm": ("minilm",),
    "models.model": ("Model", "check_purpose"),
    "evaluation.paired": ("Comparison", "compare"),
    "data.pairs": ("Pair",),
    "evaluation.promotion": ("Dealt", "Judgement", "Rule", "deal", "judge"),
    "ranking.ranking": ("Comparisons", "Ranking", "rank"),
    "fit.training": ("Plan", "cross_validate", "train"),
    "transformer.model": ("Transformer",),
    "transformer.plan": ("TransformerPlan",),
    "transformer.training": ("train_transformer",),
    "data.votes": ("Votes", "votes_of"),
}
__all__, __getattr__ = resolver(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
