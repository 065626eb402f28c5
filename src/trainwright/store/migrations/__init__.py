"""Alembic migrations, numbered; frozen once released."""
