"""The command line: `main.py`, and one thin file per command. The only package that prints and exits.

Command files import what is slow inside their functions, so that `transferscope --help` stays quick.
"""
