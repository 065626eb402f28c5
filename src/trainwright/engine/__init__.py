"""The control loop: load, decide, apply, act."""
