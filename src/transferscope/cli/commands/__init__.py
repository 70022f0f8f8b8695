"""Options of the commands: a module for each, imported when its command or its help is called.

The function of a command is in `cli/NAME.py`, which may import slow modules and is imported when the command runs.
Nothing here imports torch.
"""

GROUPS = {
    "Analyse": {
        "compare": "Compare transfer methods with baselines, and recommend one.",
        "rank": "Rank pretrained networks for a target without training.",
        "plan": "Estimate the labels needed, with and without transfer.",
        "scaling": "Fit scaling laws: how much pretraining, and which data to add.",
        "diagnose": "Measure a trained network: why transfer helps or does not.",
        "propose": "Propose the next arm for a task, from scores on other tasks.",
    },
    "Run studies": {
        "run": "Make the missing runs of a study, after a stop or a change.",
        "status": "Show progress, failed runs and pending changes of a study.",
        "report": "Report a study, or runs of another tool: answer, page, table.",
        "demo": "Run an example: rendered characters to real digits, no download.",
    },
    "Use a network": {
        "export": "Export the network of a finished run to a folder, for prediction.",
        "predict": "Predict classes with probabilities, or numbers, for new inputs.",
    },
    "Inspect": {
        "show": "Show how data (labels, inputs) or a network (blocks, head) are read.",
        "doctor": "Check this machine, and show how to install what is missing.",
    },
}
"""The commands by the group of the help, with their first sentence."""

COMMANDS = {name: sentence for group in GROUPS.values() for name, sentence in group.items()}
