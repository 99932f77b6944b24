"""Figures and reports of plans."""
