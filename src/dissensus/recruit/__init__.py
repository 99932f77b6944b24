"""Recruitment through panels: entry of the people they send, return to them, and the API of Prolific."""
