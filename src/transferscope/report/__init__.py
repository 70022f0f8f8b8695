"""Pages, figures and files out of blocks: knows no analysis, no store, no torch."""
