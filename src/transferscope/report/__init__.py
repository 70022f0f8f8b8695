"""Pages, figures and files from blocks, independent of analyses, stores and torch."""
