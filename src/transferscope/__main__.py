"""The `transferscope` command; also `python -m transferscope`.

Ctrl-C may be pressed while the command line is being imported.
"""

import gc
import sys

SEARCHED_AFTER = 50_000
"""Allocations between garbage collections: at the default of 700 they take a quarter of the import time."""


def main() -> None:
    """Run the command line; Ctrl-C at any moment ends it with exit code 130 and without a traceback."""
    gc.set_threshold(SEARCHED_AFTER)
    try:
        from transferscope.cli.main import main as command_line

        command_line()
    except KeyboardInterrupt:
        print("transferscope: stopped", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # Python looks through all objects as it ends, a fifth of the time of an answer


if __name__ == "__main__":
    main()
