"""The `transferscope` command; also `python -m transferscope`.

Importing the command line takes a moment, and Ctrl-C may come in it.
"""

import sys


def main() -> None:
    """Run the command line; Ctrl-C at any moment ends it with exit code 130 and without a traceback."""
    try:
        from transferscope.cli.main import main as command_line

        command_line()
    except KeyboardInterrupt:
        print("transferscope: stopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
