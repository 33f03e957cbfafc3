"""python -m fastpair ARGUMENTS: the command, which comes with the package."""
import os
import sys


def run(name):
    """Becomes one of the commands in the package's folder bin, with this process's arguments."""
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    sys.stdout.flush()
    os.execv(command, [name, *sys.argv[1:]])


def main():
    run("fastpair")


if __name__ == "__main__":
    main()
