"""Simulators: the solvable models of `problems`, trained many at a time, to check the closed forms of `theory`.

Everything is float64 and batched over one leading axis (seeds x sizes x angles x parameters). Each element has its own
generators, step size and stopping, so its result does not depend on the rest of the batch, up to the summation order
inside matrix products. Convergence is a status of every element.
"""
