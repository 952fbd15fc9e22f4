"""A plan as statements of SQL, for any engine: one meaning, and a dialect that says how an engine writes it.

* `dialect`    what differs between engines
* `words`      small words of SQL, as trees
* `forms`      how the listed functions are written where engines agree
* `letters`    small and capital letters, one to one
* `rows`       row expressions as layers of SELECTs
* `measures`   measures as integers of rows and of units
* `keep`       which cells a unit keeps
* `plan`       the whole statement
* `bins`, `distinct`   the statement of a histogram, and of a count of different values
* `found`      the same for groups that are found in the data
* `shown`      what is measured of them once it is known which are shown
* `joins`      the rows of a join, before the statement
* `public`     what public tables hold
* `engine`     an engine that runs such statements
"""
