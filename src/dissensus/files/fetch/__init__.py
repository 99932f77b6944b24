"""Public data sets, fetched from pinned addresses and checked."""

from dissensus.files.fetch.datasets import RECORD, Fetched, fetch

__all__ = ["RECORD", "Fetched", "fetch"]
