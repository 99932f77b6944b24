"""Agreement of pairs of raters, consistency of each rater, and a median of data larger than memory."""
