"""Texts, parsed and written without files, tables or records."""
