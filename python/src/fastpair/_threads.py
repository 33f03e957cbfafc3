"""How many threads a call may use, and threads that stay."""
import functools
import os


def count(threads):
    """`threads`, or one per CPU of this process if it is None."""
    if threads is None:
        return min(len(os.sched_getaffinity(0)), 1024)
    if not 0 <= threads <= 1024:
        raise ValueError("threads is from 0 to 1024, or None for one per CPU")
    return threads


@functools.cache
def pool():
    """The threads of all scans of this process: as many as were ever at work at once. They stay, because new ones
    are mostly put on one core, where an engine's own threads keep the others busy, and take some ms to part."""
    import concurrent.futures

    return concurrent.futures.ThreadPoolExecutor(1024, "fastpair")


# Threads are not there after a fork.
os.register_at_fork(after_in_child=pool.cache_clear)
