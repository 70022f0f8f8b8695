"""The command line: `main.py`, the options of each command in `commands/`, and its function in a file of its name.

The only package that prints and exits. `main.py` and `commands/` import only fast modules, for quick help and
completion; the file of a command is imported when it runs.
"""
