"""Evaluation of preference models."""
