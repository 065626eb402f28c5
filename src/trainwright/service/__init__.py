"""Use cases: one function, one transaction, one audit row."""
