"""Studies: a study file becomes cells, workers do them, and the store keeps what comes of each.

    places.py   a study file or store, by what a person types      tables.py    tables as settings, each mistake named
    spec.py     what a study file says, with settings.py           plan.py      its cells and their keys, from its data
    facts.py    the data, loaded and checked                       cell.py      recipes of cells
    run.py      claim, do, store, until all is done                status.py    where a study stands
    backends/   processes, on this machine                         context.py   where a cell is done
    work.py     doing a cell, with fitting.py                  inputs.py    what a plan was made from, if it changed

Import from the modules: a study's status and its place need none of those that import torch.
"""
