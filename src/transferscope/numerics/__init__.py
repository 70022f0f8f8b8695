"""Mathematics that has never heard of transfer learning; import from a file by name."""
