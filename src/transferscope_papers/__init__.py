"""Five papers on transfer learning: their solvable models, and their figures reproduced by theory and simulation.

    figure.py       what a figure is: settings in two profiles, lines, simulated points, agreement, claims of the paper
    make.py         simulate missing points (stored by study.py), draw (draw.py), write, check the claims
    from_study.py   figures drawn from a finished study; studies/theory compares runs with the papers
    catalogue.py    the figures by paper and name; command.py is `transferscope papers`
    liu2019/        Liu et al. 2019, Towards Understanding the Transferability of Deep Representations
    tahir2024/      Tahir et al. 2024, Features are fate
    shachaf2021/    Shachaf et al. 2021, A Theoretical Analysis of Fine-tuning with Linear Teachers
    mikami2021/     Mikami et al. 2021, A Scaling Law for Syn2real Transfer: theory, and the authors' published rows
    merlin2020/     Liu et al. 2020, Meta-learning Transferable Representations with a Single Target Domain (MeRLin)
    sources/        rendered scenes and half images, kinds of data that the papers need
    problems/       the solvable models of these papers, for sampling
    theory/         their closed forms, bounds and rates, each with its theorem
    simulate/       training of these models; linear_teachers.py has the base of figures of linear ones

The library `transferscope` does not import this package: `transferscope papers` is an entry point.
"""
