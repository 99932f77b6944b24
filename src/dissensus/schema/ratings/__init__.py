"""The ratings table: column names, encoding, checks."""
