"""Where models are released to, one module a type."""
