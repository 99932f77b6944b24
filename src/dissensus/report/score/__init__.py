"""Reports of scorecards: of chatbots, of models that score items, and of decisions."""
