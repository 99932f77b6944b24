"""Plan of a release: the settings that its owner writes."""
