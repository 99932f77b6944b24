"""Commands of judges: models that answer the questionnaire of a campaign, and their audit."""
