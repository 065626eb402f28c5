"""The simulator: the product's own scheduling on a virtual clock and a pretended cluster."""
