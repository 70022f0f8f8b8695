"""Studies: a study file becomes cells, workers do them, and the store keeps what comes of each.

    spec.py    what a study file says          plan.py    its cells, from its data
    cell.py    recipes of cells                key.py     what identifies a cell
    engine.py  claim, do, store, until done    backends/  processes
    work.py    doing a cell                    run.py     all of it

Import from the modules: the engine, a study's status and its address need none of those that import torch.
"""
