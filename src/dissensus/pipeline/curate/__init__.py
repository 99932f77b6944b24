"""Curation: which items of a corpus are rated, by a plan that is recorded and can be repeated."""

from dissensus.pipeline.curate.attribute_table import labelled
from dissensus.pipeline.curate.plan import Allocation, SamplePlan
from dissensus.pipeline.curate.sampler import curate
from dissensus.pipeline.curate.selection import Outcome, Selection

__all__ = ["Allocation", "Outcome", "SamplePlan", "Selection", "curate", "labelled"]
