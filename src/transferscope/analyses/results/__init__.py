"""Results that somebody else's scripts have left, a table or a folder of runs, read as a study is."""
