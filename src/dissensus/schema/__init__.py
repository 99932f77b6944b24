"""Shared vocabulary: records, questionnaires, campaign definitions, and the checked table of ratings."""
