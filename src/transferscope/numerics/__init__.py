"""Mathematics that has never heard of transfer learning.

Intervals, many arms against one control and the best of them; Lanczos;
infinite-width kernels; stable roots and solves. Import from a file by name.
"""
