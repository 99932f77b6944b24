"""Commands for preference models."""
