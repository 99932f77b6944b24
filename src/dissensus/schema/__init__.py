"""The vocabulary: column names, questionnaires, and the checked table of ratings."""
