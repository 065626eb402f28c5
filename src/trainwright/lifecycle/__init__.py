"""State machines: what happens next, decided on values."""
