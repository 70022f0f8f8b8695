"""Simulators: the solvable models of `problems`, trained many at a time, to check the closed forms of `theory`.

    linear_transfer.py  linear teachers: from scratch, fine-tuning, frozen layers, ridge heads (tahir2024, shachaf2021)
    deep_linear.py      deep linear networks of any depth; least_squares.py holds their data
    relu_student.py     ReLU students of ablated teachers (tahir2024 section 4)
    wide_relu.py        two-layer ReLU networks in the kernel regime (liu2019)
    quadratic.py        pretraining, joint training and MeRLin (merlin2020 section 5)
    averaged_sgd.py     averaged SGD on power-law spectra (mikami2021 Appendix E)
    digit_pairs.py      shachaf2021 Table 1 on pairs of digits
    descent.py          batched gradient descent; outcomes.py its results; agreement.py z-scores; seeds.py randomness

Everything is float64 and batched over one leading axis (seeds x sizes x angles x parameters). Each element draws from
its own generators, has its own step size and its own end, so its result does not depend on what else is in the batch,
up to the summation order inside matrix products. Convergence is a status of every element.
"""
