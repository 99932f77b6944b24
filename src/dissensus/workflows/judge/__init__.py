"""Runs of judges over items."""
