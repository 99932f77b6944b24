"""Folder of a judge: raw responses, parsed answers, ratings, and settings of the run."""
