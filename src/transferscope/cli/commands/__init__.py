"""The commands as they are typed: a module of options for each, imported when its command is called or asked for help.

What a command does is the function of its name in `cli/NAME.py`, which may import what takes seconds: it is imported
when the command runs. Nothing here imports torch.
"""

GROUPS = {
    "Ask": {
        "compare": "Compare methods with a source and without, on a target: which to use, and whether a source helps.",
        "rank": "What to transfer from? Rate pretrained networks on a few labelled target examples, without training.",
        "plan": "How many labels it takes: where training from scratch catches up with transfer, and what labels buy.",
        "scaling": "How much pre-training, and more data or different data? Prints the verdict and writes a page.",
        "diagnose": "What a trained network looks like, beside where it started, and what that implies for transfer.",
    },
    "Run studies": {
        "run": "Do what is missing of a study: after an interruption, or with more seeds, labels or methods.",
        "status": "Show how many cells of a study are done, why some failed, and what an edited study file asks for.",
        "report": "Write the page of a study, one HTML file that holds its figures and tables; or print its table.",
        "demo": "Transfer from rendered characters to real handwritten digits: six arms, a report, no download.",
    },
    "Use a network": {
        "export": "Write the network of a finished run to a folder, for `predict` and `load_model` in Python.",
        "predict": "Predict for new inputs, which need no labels: classes or labels with probabilities, or numbers.",
    },
    "Look": {
        "show": "What data or a network are: labels, inputs and columns; or blocks, head and what weights give.",
        "doctor": "Versions, processors, GPUs, memory, folders and extras, and how to install what is missing.",
    },
}
"""The commands by the group of the help, with their first sentence."""

COMMANDS = {name: sentence for group in GROUPS.values() for name, sentence in group.items()}
