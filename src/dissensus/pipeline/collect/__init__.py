"""Collect: conversations of people with chatbots, and what they prefer of two responses."""
