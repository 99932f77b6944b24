"""Folders and globs of Parquet files with ratings, read without holding all rows in memory."""
