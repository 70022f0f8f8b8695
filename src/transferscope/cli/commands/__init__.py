"""Options of the commands: a module for each, imported when its command or its help is called.

The function of a command is in `cli/NAME.py`, which may import slow modules and is imported when the command runs.
Nothing here imports torch.
"""

GROUPS = {
    "Ask": {
        "compare": "Methods with a source and without: what to use, does it help?",
        "rank": "Rate pretrained networks for a target, before any training.",
        "plan": "How many labels it takes, with transfer and without.",
        "scaling": "How much pretraining, and more data or different data?",
        "diagnose": "What a network looks like inside, and what follows for transfer.",
        "propose": "What to try next on a task, from scores on other tasks.",
    },
    "Run studies": {
        "run": "Do the runs of a study that are missing, after a stop or a change.",
        "status": "How much of a study is done, why runs failed, what an edit asks for.",
        "report": "What a study says, or runs of another tool: answer, page, table.",
        "demo": "From rendered characters to real handwritten digits; no download.",
    },
    "Use a network": {
        "export": "Write the network of a finished run to a folder, to predict with.",
        "predict": "Predict for new inputs: classes with probabilities, or numbers.",
    },
    "Look": {
        "show": "What data are (labels, inputs) or a network is (blocks, head).",
        "doctor": "What this machine has, and how to install what is missing.",
    },
}
"""The commands by the group of the help, with their first sentence."""

COMMANDS = {name: sentence for group in GROUPS.values() for name, sentence in group.items()}
