"""Plans as SQL statements, for any engine. The statements have one meaning; a dialect writes them for an engine.

* `dialect`                what differs between engines
* `builder`                pieces of SQL, as trees
* `column_types`           types of columns, and casts
* `functions`              the supported functions, where engines agree
* `layers`                 row expressions as layers of SELECTs
* `measures`               measures as integers of rows and of units
* `contribution_bounding`  the cells that each unit keeps
* `statement`              the whole statement of a plan, also of a count of distinct values
* `histogram`              the statement of a measure with bins
* `discovered_groups`      the statements of a plan whose groups are discovered in the data
* `joined_rows`            the rows of a join, before the statement
* `public_tables`          the policies of public tables, read from their rows
* `engine`                 an engine that runs such statements
"""
