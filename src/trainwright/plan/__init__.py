"""From a checked document to one deterministic plan."""
