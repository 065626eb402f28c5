"""What the control plane asks of the world: protocols, public."""
