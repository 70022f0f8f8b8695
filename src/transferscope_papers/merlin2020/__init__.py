"""Figures of Liu et al. 2020, Meta-learning Transferable Representations with a Single Target Domain (MeRLin)."""
