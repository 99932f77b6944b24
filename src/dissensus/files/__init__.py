"""Readers and writers of files by family: raw, ratings, pairs, attempts, scores, judge, models, releases, fetch."""
