"""Exports of a campaign: ratings, preferences, conversations and attempts."""
