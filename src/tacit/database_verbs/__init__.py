"""The verbs of a database: each writes the SELECT that it stands for, and runs it or plans it.

A verb and its SQL have the same plan, price and receipt. With `plan=True` a verb returns the quote of its query: it
reads no private row and spends nothing.
"""

from tacit.database_verbs.aggregates import AggregateVerbs
from tacit.database_verbs.base import with_warnings
from tacit.database_verbs.bounds import BoundsVerbs
from tacit.database_verbs.classify import ClassifierVerbs
from tacit.database_verbs.itemsets import ItemsetVerbs
from tacit.database_verbs.marginals import MarginalVerbs
from tacit.database_verbs.rows import RowVerbs
from tacit.database_verbs.tables import TableVerbs

__all__ = ["DatabaseVerbs", "with_warnings"]


class DatabaseVerbs(AggregateVerbs, TableVerbs, BoundsVerbs, MarginalVerbs, RowVerbs, ClassifierVerbs, ItemsetVerbs):
    """The verbs of `Database`.

    A column may be an expression in SQL. The cost and the limits are given as for `sql`: `epsilon=`, `delta=`, `rho=`
    or `error=`; `reach=`, `max_groups=`, `max_rows=`, `bounds=`; `measure_cut=`, `share=`, `intervals=`, `params=`.

    Args:
        by: the columns to group by.
        where: a condition in SQL: only rows that meet it count.
        table: the name of one of several tables.
        plan: whether to return the cost and the expected errors alone, and to spend nothing.
        request: a name for the query; repeating the query under this name returns the recorded answer at no cost.
        q: for `quantile`: the rank, a number from 0 to 1, or several.
    """
