"""Comparisons of groups whose expectation does not depend on the number of ratings, and the design they need."""
