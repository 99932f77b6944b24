"""Records of conversations, preferences and attempts."""
