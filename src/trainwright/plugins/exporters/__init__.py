"""Exporters: what tells other systems."""
