"""Jury models: how people of each group would answer about texts that nobody has rated, and juries of them."""
