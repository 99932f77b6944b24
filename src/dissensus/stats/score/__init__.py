"""Scores of items against the answers of groups of raters: losses, discrimination, calibration and gaps."""
