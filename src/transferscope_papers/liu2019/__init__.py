"""Figures of Liu et al. (2019), Towards Understanding the Transferability of Deep Representations."""
