"""Audits: lower bounds on ε that hold with a stated confidence, from outputs on two neighbouring inputs.

`audit.py` has `tc.audit`, `one_run.py` has `tc.audit_one_run`. An audit runs a release (`sampling.py`), derives
numbers and texts from its outputs (`features.py`), searches the event that tells the inputs apart best (`search.py`,
`events.py`), bounds its probabilities on other outputs (`binomial.py`, `bands.py`), and reports (`report.py`).
"""
