"""The command line: `main.py`, what each command takes in `commands/`, and what it does in a file of its name.

The only package that prints and exits. `main.py` and `commands/` import nothing that takes long, so that help and
completion stay quick; the file of a command is imported when it runs.
"""
