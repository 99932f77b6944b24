"""Judges: language models that answer a questionnaire in place of raters, and the audit of their answers."""
