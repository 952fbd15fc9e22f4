"""A query: SQL becomes a plan, the plan gets a price, and exact integers become a release. No database is read here.

* `sql/`          SQL text becomes a plan, by allow-list
* `expressions/`  expressions over one row: their kinds, their meaning, their proved ranges
* `policy/`       the public facts about a table, from arguments or from TOML
* `plan`          the plan, with `joins` and `refusals`
* `evaluate`      the value of an expression on one row
* `aggregates/`   one file per aggregate: its measures, its estimate, its interval
* `pricing/`      the noise of each bundle, its events, its expected error
* `results/`      noise on exact integers, post-processing, intervals, receipts
"""
