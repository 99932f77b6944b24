"""Reports as pages, and each of their figures and tables alone, in one theme.

Names are resolved when they are first used; type checkers read the same names from `__init__.pyi`.

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

from dissensus._lazy import resolver

_HOMES = {
    "builder": ("build", "figures_of"),
    "contested_items": ("Contested", "contested"),
    "figure": ("Figure",),
    "figures.agreement": ("agreement",),
    "figures.answers": ("answers", "questions"),
    "figures.divergence": ("divergence",),
    "figures.gold": ("gold",),
    "figures.items": ("degree", "topics"),
    "figures.labels": ("entropy", "soft_labels"),
    "figures.null": ("null",),
    "figures.raters": ("raters",),
    "figures.removal": ("moves", "removal"),
    "figures.vetting": ("evidence",),
    "groups": ("Groups", "groups_of"),
    "result": ("Report",),
    "tables": ("Table", "dataset", "of_groups", "pool"),
}
__all__, __getattr__ = resolver(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
