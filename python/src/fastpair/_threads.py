"""How many threads a call may use."""
import os


def count(threads):
    """`threads`, or one per CPU of this process if it is None."""
    if threads is None:
        return min(len(os.sched_getaffinity(0)), 1024)
    if not 0 <= threads <= 1024:
        raise ValueError("threads is from 0 to 1024, or None for one per CPU")
    return threads
