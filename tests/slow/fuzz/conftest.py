"""The fuzz target is a separate program because it instruments imports."""

collect_ignore = ["target.py"]
