"""Multilevel models of ratings: from formula and table to named effects."""

from dissensus.pipeline.model.result import (
    ModelCertificate,
    ModelDeviation,
    ModelEffect,
    ModelThreshold,
    MultilevelModel,
)
from dissensus.pipeline.model.table import fit_model

__all__ = ["ModelCertificate", "ModelDeviation", "ModelEffect", "ModelThreshold", "MultilevelModel", "fit_model"]
