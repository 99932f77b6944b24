"""Preference models that are transformers, with the extra ``ml``; without it, what needs it says so."""
