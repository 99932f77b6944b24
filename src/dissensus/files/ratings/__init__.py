"""Readers and writers of rating files."""
