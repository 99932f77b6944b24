"""Campaigns that never were: ratings drawn from a model with known differences between groups."""

from dissensus.pipeline.simulate.attempts import simulate_attempts
from dissensus.pipeline.simulate.balanced import simulate_ratings
from dissensus.pipeline.simulate.campaign import Campaign
from dissensus.pipeline.simulate.careless import Careless
from dissensus.pipeline.simulate.effects import Effects, GroupEffects
from dissensus.pipeline.simulate.items import Items, Topic
from dissensus.pipeline.simulate.latent import CUTS, SCALE, draw_answers
from dissensus.pipeline.simulate.pool import Cell, Detail, Pool, crossed
from dissensus.pipeline.simulate.preferences import SimulatedPreferences, simulate_preferences
from dissensus.pipeline.simulate.questions import Questions
from dissensus.pipeline.simulate.shipped_presets import preset, presets
from dissensus.pipeline.simulate.simulation import Simulation, simulate
from dissensus.pipeline.simulate.times import Times
from dissensus.pipeline.simulate.truth import Truth

__all__ = [
    "CUTS",
    "SCALE",
    "Campaign",
    "Careless",
    "Cell",
    "Detail",
    "Effects",
    "GroupEffects",
    "Items",
    "Pool",
    "Questions",
    "SimulatedPreferences",
    "Simulation",
    "Times",
    "Topic",
    "Truth",
    "crossed",
    "draw_answers",
    "preset",
    "presets",
    "simulate",
    "simulate_attempts",
    "simulate_preferences",
    "simulate_ratings",
]
