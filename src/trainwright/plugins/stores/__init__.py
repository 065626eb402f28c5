"""Where content is kept."""
