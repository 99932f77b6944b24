"""Figures, one module per kind."""
