"""Training data: pairs, features and weights."""
