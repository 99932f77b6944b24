"""Simulation of campaigns: ratings drawn from a model with known group differences."""

from dissensus.pipeline.simulate.attempts import simulate_attempts
from dissensus.pipeline.simulate.balanced import CUTS, draw_answers, simulate_ratings
from dissensus.pipeline.simulate.campaign import SimulationDesign
from dissensus.pipeline.simulate.careless import Careless
from dissensus.pipeline.simulate.effects import GroupEffects, SimulatedEffects
from dissensus.pipeline.simulate.items import SimulatedItems, Topic
from dissensus.pipeline.simulate.latent import SCALE
from dissensus.pipeline.simulate.pool import Detail, Pool, PoolCell, cross_axes
from dissensus.pipeline.simulate.preferences import SimulatedPreferences, simulate_preferences
from dissensus.pipeline.simulate.questions import Questions
from dissensus.pipeline.simulate.shipped_presets import preset, presets
from dissensus.pipeline.simulate.simulation import Simulation, Truth, simulate
from dissensus.pipeline.simulate.times import SimulatedTimes

__all__ = [
    "CUTS",
    "SCALE",
    "Careless",
    "Detail",
    "GroupEffects",
    "Pool",
    "PoolCell",
    "Questions",
    "SimulatedEffects",
    "SimulatedItems",
    "SimulatedPreferences",
    "SimulatedTimes",
    "Simulation",
    "SimulationDesign",
    "Topic",
    "Truth",
    "cross_axes",
    "draw_answers",
    "preset",
    "presets",
    "simulate",
    "simulate_attempts",
    "simulate_preferences",
    "simulate_ratings",
]
