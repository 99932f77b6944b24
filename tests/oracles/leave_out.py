"""Leave-one-group-out densities of multilevel models: a fit without each group."""

from dataclasses import replace

import numpy as np

from dissensus.stats.multilevel.design import ModelDesign
from dissensus.stats.multilevel.fit import OrdinalFit, fit_ordinal


def refit_without(design: ModelDesign, fit: OrdinalFit, number: int) -> np.ndarray:
    """Log-likelihood of all answers less that of others, at the estimates from the others, for each group."""
    densities = []
    for group in range(design.random[number].n_groups):
        rest = design.random[number].groups != group
        terms = []
        for term in design.random:
            groups = np.unique(term.groups[rest], return_inverse=True)[1].ravel()
            covariates = term.covariates and replace(term.covariates, row=term.covariates.row[rest])
            terms.append(replace(term, groups=groups, n_groups=int(groups.max()) + 1, covariates=covariates))
        others = ModelDesign(
            answers=design.answers[rest],
            n_categories=design.n_categories,
            fixed=replace(design.fixed, row=design.fixed.row[rest]),
            random=tuple(terms),
        )
        without = fit_ordinal(others, link=fit.link, integration="laplace").approximation
        whole = fit.approximation.likelihood.mode(without.parameters).log_likelihood
        densities.append(whole - without.mode.log_likelihood)
    return np.array(densities)
