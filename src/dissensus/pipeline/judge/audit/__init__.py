"""Audit of a judge against itself and against groups of raters."""
