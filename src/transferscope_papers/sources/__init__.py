"""Sources of two of the papers: kinds of data that join `transferscope.data` by entry points.

    scenes/         rendered solids, a synthetic source whose attributes and task are settings (Mikami et al. 2021)
    half_images.py  images of which one half transfers and one does not (MeRLin, Liu et al. 2020)

They use public names only, as data sets of any other package would.
"""
