"""The five questions from Python: each function answers one and returns an `AnalysisResult`."""
