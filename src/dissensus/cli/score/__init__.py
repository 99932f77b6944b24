"""`dissensus benchmark`, and options of scores and decision rules."""
