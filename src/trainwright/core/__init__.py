"""Frozen values and small pure functions that every floor above speaks in."""
