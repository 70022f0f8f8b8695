"""The five questions from Python: each function answers one, and what it returns is an `AnalysisResult`."""
