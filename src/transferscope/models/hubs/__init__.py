"""Networks of other libraries by name: one file per library, which is imported only when needed."""
