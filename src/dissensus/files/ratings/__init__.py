"""Readers and writers of ratings files."""
