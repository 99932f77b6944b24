"""Demo campaign: simulated conversations, and simulated raters who take part over HTTP."""
