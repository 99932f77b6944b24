"""Readers and writers: bytes to tables and back."""
