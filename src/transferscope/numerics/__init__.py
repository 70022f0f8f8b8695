"""Mathematics that has never heard of transfer learning.

Intervals, paired differences, many arms against one control and the best of them, Holm's correction; Lanczos,
stochastic traces and spectral densities; infinite-width kernels; stable roots and solves. Import from a file by name.
"""
