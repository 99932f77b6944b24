"""Fitting of preference models."""
