"""Webhooks: batches of events, the pause after continuous failure, and signatures of requests."""
