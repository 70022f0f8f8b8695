"""Five papers on transfer learning: their solvable models, and their figures computed and simulated again.

    figure.py       what a figure is: settings in two profiles, lines, simulated points, agreement, claims of the paper
    make.py         simulate what is missing (study.py keeps it in a store), draw (draw.py), write, say what holds
    from_study.py   figures that are drawn from a finished study; what runs say of a paper is judged in studies/theory
    catalogue.py    the figures by paper and name; command.py is `transferscope papers`
    liu2019/        Liu et al. 2019, Towards Understanding the Transferability of Deep Representations
    tahir2024/      Tahir et al. 2024, Features are fate
    shachaf2021/    Shachaf et al. 2021, A Theoretical Analysis of Fine-tuning with Linear Teachers
    mikami2021/     Mikami et al. 2021, A Scaling Law for Syn2real Transfer: theory, and the authors' published rows
    merlin2020/     Liu et al. 2020, Meta-learning Transferable Representations with a Single Target Domain (MeRLin)
    sources/        rendered scenes and half images, kinds of data that the papers need
    problems/       the solvable models of these papers: what is drawn from them
    theory/         their closed forms, bounds and rates, each naming its theorem
    simulate/       the same, trained; linear_teachers.py is for figures of the linear ones

The library `transferscope` does not know this package: `transferscope papers` joins by an entry point.
"""
