"""Lists of staff: summaries by which they are sorted, and their queries."""
