"""Engines that pass over ratings in blocks of items, wherever they lie."""
