"""Reports as pages, and their figures and tables individually, in one theme.

Names are listed in `__init__.pyi` and imported on first use.

Examples
--------
>>> import dissensus as ds
>>> ratings = ds.simulate_ratings(n_items=40, raters_per_cell=6, seed=1)
>>> figure = ds.report.answers(ratings, "gender")
>>> figure.title
'Answers by gender'
>>> figure.table.columns
['group', 'n_ratings', 'share of No', 'share of Unsure', 'share of Yes']
"""

from dissensus._lazy import attach_stub

__all__, __getattr__ = attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    return __all__
