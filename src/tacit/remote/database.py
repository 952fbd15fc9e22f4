"""A database behind a server: the same questions as `Database`, sent as JSON.

The server plans, charges and answers. The names and the meaning of arguments are those of `Database`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any, Self, Unpack
from uuid import uuid4

from tacit.errors import InvalidError, TableNotFoundError, UnusedOptionError, bad_value
from tacit.query.formatting import spell
from tacit.query.policy import ColumnPolicy, PublicRows, TablePolicy
from tacit.query_options import GroupOptions, Options, RowOptions, RunOptions, check_options
from tacit.remote.connection import Connection, path_of
from tacit.remote.encoding import Guarantee, encoded, guarantee_of, value_of
from tacit.remote.results import RemotePlan, RemoteRelease, RemoteReport
from tacit.safe_text import visible

_KEY = 100


class RemoteDatabase:
    """Private tables of a server behind one budget; see `connect`."""

    def __init__(self, connection: Connection, dataset: str | None = None) -> None:
        """Find the dataset; with several, one must be named."""
        self._connection = connection
        names = [each["name"] for each in connection.get("/datasets")["datasets"]]
        if dataset is None and len(names) != 1:
            raise InvalidError(
                f"The server has {len(names):,} datasets, and none is named.",
                argument="dataset",
                hint=f"Name one of {', '.join(names)}: dataset={names[0]!r}." if names else "Ask its administrator.",
            )
        if dataset is not None and dataset not in names:
            raise TableNotFoundError(dataset, names)
        self._path = path_of("datasets", dataset or names[0])
        self.dataset: str = dataset or names[0]

    # --- SQL --------------------------------------------------------------------------------------------------------

    def plan(self, query: str, **options: Unpack[Options]) -> RemotePlan:
        """Return the cost of a query and the expected error of its answer; read nothing private, spend nothing."""
        check_options(options, Options)
        return self._plan({"sql": query, **encoded(options)})

    def sql(self, query: str, **options: Unpack[RunOptions]) -> RemoteRelease:
        """Run a query and charge it; the arguments are those of `Database.sql`."""
        check_options(options, RunOptions)
        return self._answer({"sql": query}, options)

    # --- verbs ------------------------------------------------------------------------------------------------------

    def count(self, *, plan: bool = False, **options: Unpack[GroupOptions]) -> RemoteRelease | RemotePlan:
        """Count rows."""
        return self._verb("count", {}, options, plan=plan)

    def sum(self, column: str, *, plan: bool = False, **options: Unpack[GroupOptions]) -> RemoteRelease | RemotePlan:
        """Add up a column."""
        return self._verb("sum", {"column": column}, options, plan=plan)

    def mean(self, column: str, *, plan: bool = False, **options: Unpack[GroupOptions]) -> RemoteRelease | RemotePlan:
        """Average a column."""
        return self._verb("mean", {"column": column}, options, plan=plan)

    def variance(
        self, column: str, *, sample: bool = True, plan: bool = False, **options: Unpack[GroupOptions]
    ) -> RemoteRelease | RemotePlan:
        """Return the variance of a column: of a sample, or of a population if not `sample`."""
        return self._verb("variance", {"column": column, "sample": sample}, options, plan=plan)

    def std(
        self, column: str, *, sample: bool = True, plan: bool = False, **options: Unpack[GroupOptions]
    ) -> RemoteRelease | RemotePlan:
        """Return the standard deviation of a column: of a sample, or of a population if not `sample`."""
        return self._verb("std", {"column": column, "sample": sample}, options, plan=plan)

    def median(self, column: str, *, plan: bool = False, **options: Unpack[GroupOptions]) -> RemoteRelease | RemotePlan:
        """Return the median of a column."""
        return self._verb("median", {"column": column}, options, plan=plan)

    def quantile(
        self, column: str, q: float | Sequence[float], *, plan: bool = False, **options: Unpack[GroupOptions]
    ) -> RemoteRelease | RemotePlan:
        """Return one quantile of a column, or several, which share the cost."""
        ranks = list(q) if isinstance(q, Sequence) else q
        return self._verb("quantile", {"column": column, "q": ranks}, options, plan=plan)

    def choose(self, column: str, *, plan: bool = False, **options: Unpack[GroupOptions]) -> RemoteRelease | RemotePlan:
        """Draw the most frequent of a column's public values."""
        return self._verb("choose", {"column": column}, options, plan=plan)

    def top(
        self, column: str, n: int, *, plan: bool = False, **options: Unpack[RowOptions]
    ) -> RemoteRelease | RemotePlan:
        """Return the n most frequent values of a column with their noisy counts, the largest first."""
        return self._verb("top", {"column": column, "n": n}, options, plan=plan, known=RowOptions)

    def describe(self, *columns: str, plan: bool = False, **options: Unpack[RowOptions]) -> RemoteRelease | RemotePlan:
        """Describe columns at one cost: count, missing share, mean, std, min, quartiles and max, with intervals."""
        return self._verb("describe", {"columns": list(columns)}, options, plan=plan, known=RowOptions)

    def histogram(
        self, column: str, bins: int | Sequence[float], *, plan: bool = False, **options: Unpack[GroupOptions]
    ) -> RemoteRelease | RemotePlan:
        """Count a column's values in bins: whole numbers, never negative."""
        edges = list(bins) if isinstance(bins, Sequence) else bins
        return self._verb("histogram", {"column": column, "bins": edges}, options, plan=plan)

    def crosstab(self, *columns: str, plan: bool = False, **options: Unpack[RowOptions]) -> RemoteRelease | RemotePlan:
        """Count the combinations of several columns: whole numbers, consistent with all margins."""
        return self._verb("crosstab", {"columns": list(columns)}, options, plan=plan, known=RowOptions)

    # --- reports for stewards -----------------------------------------------------------------------------------------

    def limits(self, query: str | None = None, *, request: str | None = None, **options: Any) -> RemoteReport:  # noqa: ANN401 - as Database.limits
        """Release how many units have how many rows; this needs the role steward."""
        body = encoded({"sql": query, **options})
        return RemoteReport(self._connection.post(f"{self._path}/limits", body, _key(request)))

    def bounds(self, column: str, *, request: str | None = None, **options: Any) -> tuple[Any, Any, Any, Any]:  # noqa: ANN401 - as Database.bounds
        """Find private bounds of a column: low, high, and the values below and above; this needs the role steward."""
        body = encoded({"column": column, **options})
        found = self._connection.post(f"{self._path}/bounds", body, _key(request))
        return found["low"], found["high"], found["below"], found["above"]

    # --- the budget and the tables ----------------------------------------------------------------------------------

    @property
    def left(self) -> Guarantee:
        """The amount that this analyst has left, of the budget of all and of the analyst's own limit."""
        return guarantee_of(self._facts()["left"])

    @property
    def spent(self) -> Guarantee:
        """The amount that has been spent."""
        return guarantee_of(self._facts()["spent"])

    @property
    def budget(self) -> Guarantee:
        """The budget of the data."""
        return guarantee_of(self._facts()["budget"])

    @property
    def analyst(self) -> str:
        """The name of the person whose token this is, which is the analyst's in the ledger."""
        return str(self._connection.get("/me")["name"])

    @property
    def tables(self) -> Mapping[str, TablePolicy]:
        """The policy of each table: what is public about it, without hidden columns."""
        return {each["name"]: _table(each) for each in self._facts()["schema"]}

    def history(self) -> list[dict[str, Any]]:
        """Return the latest questions of this analyst, the newest first."""
        return list(self._connection.get(f"/history?dataset={path_of(self.dataset)[1:]}")["questions"])

    def _facts(self) -> dict[str, Any]:
        return self._connection.get(self._path)

    def __repr__(self) -> str:
        """Return the dataset, the server and the budget that is left."""
        return visible(f"<Database: {self.dataset} at {self._connection.address}; left: {spell(self.left)}>")

    def close(self) -> None:
        """Do nothing: no connection stays open."""

    def __enter__(self) -> Self:
        """Return the database."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _verb(
        self,
        verb: str,
        arguments: Mapping[str, Any],
        options: Mapping[str, Any],
        *,
        plan: object,
        known: type[RowOptions] = GroupOptions,
    ) -> RemoteRelease | RemotePlan:
        check_options(options, known, ["plan"])
        if not isinstance(plan, bool):
            raise bad_value("plan", plan, "True or False")
        if plan and options.get("request") is not None:
            raise UnusedOptionError("request", "with plan=True")
        by = options.get("by")
        rows = {"by": [by] if isinstance(by, str) else list(by)} if by else {}
        asked = {"verb": verb, **arguments, **rows}
        others = {name: value for name, value in options.items() if name != "by"}
        if plan:
            return self._plan({**asked, **encoded(others)})
        return self._answer(asked, others)

    def _plan(self, body: Mapping[str, Any]) -> RemotePlan:
        return RemotePlan(self._connection.post(f"{self._path}/plans", body))

    def _answer(self, asked: Mapping[str, Any], options: Mapping[str, Any]) -> RemoteRelease:
        others = {name: value for name, value in options.items() if name != "request"}
        key = _key(options.get("request"))
        content = self._connection.post(f"{self._path}/answers", {**asked, **encoded(others)}, key)
        return RemoteRelease(content, self._connection.get)


def _key(request: object) -> str:
    """Return the Idempotency-Key of a request name, or a new one."""
    if request is None:
        return uuid4().hex
    is_key = isinstance(request, str) and request.isascii() and request.isprintable() and " " not in request
    if not is_key or not isinstance(request, str) or not 0 < len(request) <= _KEY:
        raise bad_value("request", request, f"a name of up to {_KEY} letters, digits and signs, without blanks")
    return request


def _table(content: Mapping[str, Any]) -> TablePolicy:
    """Return the public facts about a table."""
    columns = {each["name"]: _column(each) for each in content["columns"]}
    tuples = tuple(
        PublicRows(tuple(each["columns"]), tuple(map(tuple, each["rows"]))) for each in content["key_tuples"]
    )
    return TablePolicy(
        name=content["name"],
        unit=content["unit"],
        max_groups=content["max_groups"],
        max_rows=content["max_rows"],
        neighbours=content["neighbours"],
        columns=columns,
        public=content["public"],
        reach=content["reach"],
        key_tuples=tuples,
    )


def _column(content: Mapping[str, Any]) -> ColumnPolicy:
    kind, bounds, keys = content["kind"], content["bounds"], content["keys"]
    days: tuple[date, date] | None = None
    numbers: tuple[Fraction, Fraction] | None = None
    if bounds is not None and isinstance(bounds[0], str):
        days = date.fromisoformat(bounds[0][:10]), date.fromisoformat(bounds[1][:10])
    elif bounds is not None:
        numbers = Fraction(repr(float(bounds[0]))), Fraction(repr(float(bounds[1])))
    return ColumnPolicy(
        kind=kind,
        bounds=numbers,
        days=days,
        keys=None if keys is None else tuple(value_of(key, kind) for key in keys),
        required=content["required"],
        timezone=content["timezone"],
    )
