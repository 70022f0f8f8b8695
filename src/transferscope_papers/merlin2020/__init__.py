"""Figures of Liu et al. (2020), MeRLin."""
