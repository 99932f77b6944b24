"""Workflows of the platform: load, decide, save, in one transaction each."""
