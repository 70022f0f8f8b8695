"""Studies: a study file becomes cells, workers execute them, and the store keeps their outcomes.

Import from the modules: some do not need torch, such as those for the status of a study.
"""
