"""Results of other tools, a table or a folder of runs, in the form of a study."""
