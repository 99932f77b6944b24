"""Judges: language models that answer a questionnaire as raters of their own kind, and their audit."""
