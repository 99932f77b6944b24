"""Storage of preference models, and the model registry."""
