"""Readers and writers of red-team attempts."""
