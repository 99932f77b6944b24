"""Engines that pass over ratings in blocks of items: in threads of this process, or on executors of Spark."""
