"""Answers of people as effects of texts, groups and raters, and the verdicts of juries."""
