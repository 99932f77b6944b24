"""Webhooks: batches of events with their retries, and signatures of requests."""
