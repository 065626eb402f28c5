"""What a scheduler remembers from one round to the next, to be fast and for nothing else.

A round with a memory decides what the same round without one decides; a property test holds it to that.
"""


class Memory:
    """Caches of the modules of ``sched``; belongs to whoever calls ``schedule`` again and again."""
