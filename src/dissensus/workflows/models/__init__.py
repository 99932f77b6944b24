"""Training, versions and scores of preference models."""
