"""Documents people write, checked: text in, values with positions out."""
