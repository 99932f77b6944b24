"""Readers and writers of files by family: raw, ratings, pairs, attempts, models, fetch."""
