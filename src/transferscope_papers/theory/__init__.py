"""Closed forms, bounds and rates of solvable models of transfer; docs/theory/ explains each, with errata."""
