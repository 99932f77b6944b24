"""Questionnaires: questions, answers and scales."""
