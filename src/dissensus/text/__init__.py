"""Parsing, formatting and screening of texts."""
