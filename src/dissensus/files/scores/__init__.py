"""Readers of scores of items: tables, and logs of Inspect and HELM."""
