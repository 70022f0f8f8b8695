"""Studies: a study file becomes cells, workers do them, and the store keeps what comes of each.

Import from the modules: a study's status and its place need none of those that import torch.
"""
