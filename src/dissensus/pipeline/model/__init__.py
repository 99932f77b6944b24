"""Multilevel models of ratings: from formula and table to named effects."""

from dissensus.pipeline.model.result import ModelDeviation, ModelEffect, ModelThreshold, MultilevelModel
from dissensus.pipeline.model.table import fit_model

__all__ = ["ModelDeviation", "ModelEffect", "ModelThreshold", "MultilevelModel", "fit_model"]
