"""python -m fastpair.fpgrep ARGUMENTS: the command that searches, which comes with the package."""
from .__main__ import run


def main():
    run("fpgrep")


if __name__ == "__main__":
    main()
