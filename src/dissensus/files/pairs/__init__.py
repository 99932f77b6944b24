"""Readers and writers of preference pairs."""
