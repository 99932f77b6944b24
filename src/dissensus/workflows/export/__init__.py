"""Exports of what a campaign collected."""
