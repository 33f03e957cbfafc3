"""python -m fastpair ARGUMENTS: the command, which comes with the package."""
import os
import sys


def main():
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "fastpair")
    sys.stdout.flush()
    os.execv(command, ["fastpair", *sys.argv[1:]])


if __name__ == "__main__":
    main()
