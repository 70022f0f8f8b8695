"""Whether transfer learning helps a target task, which way, how much pre-training it takes, and why.

`transferscope.compare.compare` is the door from Python; `transferscope --help` the one from the command line. Importing
this package imports nothing else.
"""
