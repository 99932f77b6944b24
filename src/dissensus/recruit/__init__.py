"""Platforms that send raters: how people come from them, how they go back, and what is asked of a platform."""
