"""Studies: a study file becomes cells, workers do them, and the store keeps what comes of each.

    spec.py   what a study file says         plan.py  its cells, from its data
    cell.py   recipes and keys of cells      work.py  doing a cell
    run.py    claim, do, store, until done   backends/  processes

Import from the modules: reading a store or showing its status needs none of those that import torch.
"""
