"""Tahir, Ganguli and Rotskoff 2024, "Features are fate"."""
