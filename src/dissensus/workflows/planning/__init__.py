"""Plans of campaigns, and interim looks at their ratings."""
