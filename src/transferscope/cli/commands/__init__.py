"""The commands as they are typed: a module of options for each, imported when its command is called or asked for help.

What a command does is the function of its name in `cli/NAME.py`, which may import what takes seconds: it is imported
when the command runs. Nothing here imports torch.
"""

from typing import NamedTuple

ASK, RUN, USE, LOOK = "Ask", "Run studies", "Use a network", "Look"


class Listed(NamedTuple):
    """A command in the help of all: its group and its first sentence."""

    group: str
    sentence: str


COMMANDS = {
    "compare": Listed(
        ASK, "Compare arms, methods with a source and without, on a target: which to use, and whether a source helps."
    ),
    "rank": Listed(
        ASK, "What to transfer from? Rate pretrained networks on a few labelled target examples, without training."
    ),
    "plan": Listed(
        ASK, "How many labels it takes: where training from scratch catches up with transfer, and what labels buy."
    ),
    "scaling": Listed(
        ASK, "How much pre-training, and more data or different data? Prints the verdict and writes a page."
    ),
    "diagnose": Listed(
        ASK, "Say what a trained network looks like, beside where it started, and what that implies for the transfer."
    ),
    "run": Listed(RUN, "Do what is missing of a study: after an interruption, or with more seeds, labels or methods."),
    "status": Listed(
        RUN, "Show how many cells of a study are done, why cells failed, and what an edited study file asks for now."
    ),
    "report": Listed(
        RUN, "Write the page of a study, one HTML file that holds its figures and tables; or print its table."
    ),
    "demo": Listed(
        RUN, "Transfer from rendered characters to real handwritten digits: six arms, 6 seeds, a report; no download."
    ),
    "export": Listed(
        USE, "Write the network of a finished run to a folder, for `transferscope predict` and `load_model` in Python."
    ),
    "predict": Listed(
        USE, "Predict for new inputs, which need no labels: a class or labels with the probability of each, or numbers."
    ),
    "show": Listed(
        LOOK, "What data or a network are: labels, inputs and columns; or blocks, inputs, head and what weights give."
    ),
    "doctor": Listed(
        LOOK, "Versions, processors, GPUs, memory, folders and extras, with the line that installs what is missing."
    ),
}
"""By name, in the order of the help."""
