"""A question asked: SQL becomes a checked plan, the plan a price, exact integers a release; no database here.

* `expressions`, `functions`  what is computed from one row, and what is known of its range
* `policy`, `policy_file`     what is public about a table, from arguments or from TOML
* `parse`                     SQL text into a plan, by allow-list
* `plan`                      the plan
* `aggregates/`               one file an aggregate: what it measures, its estimate, its interval
* `price`                     noise for each bundle, events, expected error
* `release`                   noise on exact integers, post-processing, intervals, receipt
"""
