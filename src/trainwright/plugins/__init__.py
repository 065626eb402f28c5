"""Backends, steps and sources; they see only ports and core."""
