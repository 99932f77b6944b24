"""Preference models: the probability that people choose one of two answers, learned from pairs.

Names are listed in `__init__.pyi` and imported on first use.

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

from dissensus._lazy import attach_stub

__all__, __getattr__ = attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return __all__
