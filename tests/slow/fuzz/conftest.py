"""The guided fuzzer is a separate program because it instruments imports."""

collect_ignore = ["guided.py"]
