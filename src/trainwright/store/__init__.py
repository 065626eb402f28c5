"""The only SQL: values in, values out, every write guarded."""
