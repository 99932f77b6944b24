"""Public data sets, fetched from pinned addresses and checked."""

from dissensus.files.catalogue import RECORD
from dissensus.files.fetch.datasets import NOTICE, Fetched, fetch

__all__ = ["NOTICE", "RECORD", "Fetched", "fetch"]
