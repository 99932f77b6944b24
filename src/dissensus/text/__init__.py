"""Texts taken apart and put together again, without files, tables or records."""
