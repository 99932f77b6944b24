"""Preference models: which of two answers people would choose, learned from pairs of which they chose one."""
