"""Preference models on disk."""
