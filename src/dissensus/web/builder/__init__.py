"""Pages that build a campaign step by step."""
