"""Capture at submit: the code, the environment and the machine that identify an experiment."""
