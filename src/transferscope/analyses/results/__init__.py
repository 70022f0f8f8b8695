"""Results of other tools, a table or a folder of runs, read as a study is."""
