"""Preference models by kind."""
