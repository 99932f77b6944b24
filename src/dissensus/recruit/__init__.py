"""Recruitment platforms that send raters."""
