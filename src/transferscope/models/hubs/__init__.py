"""Networks of other libraries by name: each file knows one, and imports it only when a name of it is opened."""
