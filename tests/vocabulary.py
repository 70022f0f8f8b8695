"""Words that may not appear in what people read, each with what to write instead: the terms of docs/glossary.md."""

NOT_ALLOWED = {
    r"best (that needs no|without a) source|arms? with(out)? a source (is|are|reach)": "baseline, transfer arm",
    r"(?<!-)\bpre-train": "pretraining, as in [pretraining]",
    r"\bnothing but\b|\bnone but\b": "only",
    r"\b(something|nothing|others?|other things) else than\b|\bothers than\b": "other than, different from",
    r"\b(is|are|be|been|cannot be) told\b": "detected, distinguishable, significant",
    r"\bgo(es)? on\b|\bgone on with\b": "continue, resume",
    r"\bsettled?\b|\bit is open\b": "decided, inconclusive",
    r"\banew\b": "again",
    r"\bmend(s|ed)?\b": "fix",
    r"\bheld against\b": "compared with",
    r"\bpassed over\b": "ignored",
    r"\bis gone\b|\bhas gone\b": "missing",
    r"\bof no interest\b": "does not matter",
    r"(\bwhich|\bthat|\bit|\}) (is|are) no (?!longer|such|more|less|better|worse)": "is not a",
    r"\bone answer to everything\b": "a constant prediction",
    r"\bseveral measures\b|\bname of a measure\b": "metric",
    r"\bhardly\b.*\bchance\b": "unlikely",
    r"\bcalled (better|worse)\b": "significantly better or worse",
    r"\bthe arm to use\b": "the recommended arm",
    r"\bneeds no source\b": "is a baseline",
    r"\btruth values?\b": "boolean",
}
"""Words that a practitioner would not meet in scikit-learn, PyTorch or Hugging Face, and what to write instead."""
