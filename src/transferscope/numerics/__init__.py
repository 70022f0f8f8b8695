"""Mathematics that does not depend on transfer learning; import from a file by name."""
