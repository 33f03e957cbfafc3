"""checks.py - what the evaluation's tests share: they count what holds, and say what does not."""

import sys

passed = failed = 0


def check(condition, what):
    global passed, failed
    if condition:
        passed += 1
    else:
        failed += 1
        print(f"failed: {what}", file=sys.stderr)


def done():
    """Prints the counts and ends the test. One that checked nothing has failed."""
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
