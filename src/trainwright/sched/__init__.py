"""Who runs now and where: pure decisions on a snapshot."""
