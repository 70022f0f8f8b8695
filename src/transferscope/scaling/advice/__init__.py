"""From fitted laws to a decision: more data, other data, or more labels?"""
