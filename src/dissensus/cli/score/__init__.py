"""Commands that score chatbots and models against groups of raters."""
