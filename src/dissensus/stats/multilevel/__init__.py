"""Multilevel models of ordered answers: design, likelihood, fit."""
