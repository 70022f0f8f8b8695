"""The figures of the report, one file each: a summary in, a drawing with its caption and the numbers behind it out."""
