"""Shachaf, Brutzkus and Globerson 2021, "A Theoretical Analysis of Fine-tuning with Linear Teachers"."""
