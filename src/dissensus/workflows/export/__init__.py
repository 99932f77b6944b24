"""Exports of collected ratings, preferences and attempts."""
