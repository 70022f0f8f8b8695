"""Mathematics that has never heard of transfer learning.

Intervals, paired differences, Holm's correction, chances of being best; Lanczos, stochastic traces and spectral
densities; infinite-width kernels; stable roots and solves. Each file stands alone; import from it by name.
"""
