"""Mikami et al. 2021, "A Scaling Law for Syn2real Transfer: How Much Is Your Pretraining Effective?"."""
