"""Transformer preference models, with the extra ``ml``."""
