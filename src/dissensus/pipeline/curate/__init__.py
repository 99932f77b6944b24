"""Curation: stratified samples of a corpus by a recorded, repeatable plan."""

from dissensus.pipeline.curate.plan import Allocation, SamplePlan
from dissensus.pipeline.curate.sampler import curate
from dissensus.pipeline.curate.selection import Outcome, Selection
from dissensus.pipeline.curate.strata import join_attributes

__all__ = ["Allocation", "Outcome", "SamplePlan", "Selection", "curate", "join_attributes"]
