"""Kinds of platform documents, a module each; ``known`` lists them."""
