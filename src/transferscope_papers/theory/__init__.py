"""Closed forms, bounds and rates of solvable models of transfer; docs/theory/ explains each beside its errata.

linear_pair.py         two linear tasks as one object
learners.py            what training from scratch, linear transfer and fine-tuning come to on it
gaussian_regression.py the ridge regression that each of them is, for inputs of any covariance
linear_scratch.py      a linear network from scratch: least squares with and without the best ridge
sparsification.py      what pre-training leaves of a start of finite scale, and of a finite source
linear_transfer.py     frozen features of deep linear networks; ridge.py the same with a ridge on the head
fine_tuning.py         every layer of a deep linear network trained, in the limit, at finite sizes and on average
fine_tuning_bounds.py  bounds for one layer and any covariance; linear_teachers.py risks on given inputs
pair_bounds.py         the bounds of shachaf2021 for a pair that is known by examples alone
relu.py, ntk.py        two-layer ReLU networks: what features can express; bounds in the kernel regime
quadratic.py           two-layer quadratic networks: pre-training, joint training, MeRLin
rates.py               exponents in source and target examples
distances.py           KL, Wasserstein and Dudley distances between tasks
placement.py           a pair of tasks on the diagram of linear transfer
parameters.py          the parameters that all of them take, checked
"""
