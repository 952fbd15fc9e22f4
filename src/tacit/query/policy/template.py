"""The policy file to fill in that `tacit init` prints. It is made from the schema; no row is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tacit.errors import InvalidError, show
from tacit.query.expressions import Kind
from tacit.query.policy.locations import holds_secret
from tacit.query.policy.toml_lines import quoted, string

_TOP = """\
# A policy for tacit: the public facts about the data, and the privacy budget.
# It was written from the schema alone. Fill in every "", and add the public facts about the columns.
# Write only what is known without reading the data: from the questionnaire, a law, a price list.

# The budget for all queries of all analysts together, for ever; a smaller budget is more private. Write epsilon or rho.
# Add delta for groups that are found in the data and for Gaussian noise, far below 1 divided by the number of units:
#   budget = {{ epsilon = 1.0, delta = 1e-6 }}
budget = ""

# The ledger records what was spent. Without a ledger each session starts with the whole budget again.
ledger = {ledger}

# A name for this version of the data. Change it whenever the data change. Under one name, a repeated query gets its
# recorded answer again and costs nothing. Without a name every query is charged:
#   data_version = "2026-03"

# The guarantee hides whether a unit is in the data ("add/remove"), or only the values in its rows ("change one").
neighbours = "add/remove"
"""

_TIMEZONE = """
# The time zone in which timestamps with a time zone are read: {columns}. Without it a query cannot use them.
# Write a name of the IANA time zone database, such as "Europe/Zurich"; "UTC" reads them in UTC.
timezone = ""
"""

_TABLE = """
[tables.{name}]
source = {source}
{table}
# The privacy unit: the column whose value identifies the unit of a row, for example a person's number. All rows with
# one value are protected together. If no two rows belong to one unit, write each_row = true instead of the next two
# settings.
unit = ""

# The most rows of one unit that one answer counts; the rows of a unit with more get smaller weights. A larger number
# cuts fewer rows and adds more noise. If it is not known, remove the line: then `tacit limits` reports privately what
# each number would cut, and `tacit query --reach auto` chooses it for one query.
reach = ""

# Each column of the source. Inside its braces, write the public facts about it:
#   type = …             integer, real, text, boolean, date or timestamp; a value of another type counts as missing
#   bounds = [low, high] of a number: values outside are clipped to the nearer end; sums and averages need it;
#                        of a date or a timestamp: the first and the last day to group by
#   keys = […]           the values to group by; all of them are printed, rows with other values are left out
#   hidden = true        a query must not use it
#   required = true      it has no missing values: one is read as the first key, as false, or as 0 clipped to the bounds
{note}[tables.{name}.columns]
"""

_UNTYPED = """\
# This source has no types: a column is read as text, unless you write its type here or it follows from bounds or keys.
"""

_END = """
# The budget of each analyst, under the budget of all; `tacit query --analyst NAME` uses it:
#   [analysts]
#   maria = {{ epsilon = 0.5, delta = 1e-7 }}
#   "*" = {{ epsilon = 0 }}   # each analyst who is not listed: 0 refuses all queries; without it, the budget of all

# Public tables to join, by their names in SQL. They are read whole, and their values are public:
#   [public.regions]
#   source = "regions.csv"
"""

_ADD: dict[Kind, str] = {
    "integer": "bounds = [low, high]",
    "real": "bounds = [low, high]",
    "text": 'keys = ["…", "…"]',
    "boolean": "keys = [true, false]",
    "date": "bounds = [2026-01-01, 2026-12-31]",
    "timestamp": "bounds = [2026-01-01, 2026-12-31]",
}


def skeleton(
    tables: Mapping[str, tuple[str, Mapping[str, Kind]]],
    *,
    table: str | None = None,
    typed: bool = True,
    unusable: Iterable[str] = (),
    zoned: Sequence[str] = (),
) -> str:
    r"""Return a policy file to fill in.

    Args:
        tables: For each table its source, as the file writes it, and the kind of each column.
        table: The name of the table in its database, as the file writes it.
        typed: Whether the kinds come from the source; a CSV file has no types, so the steward chooses them.
        unusable: Columns whose types cannot be used; a comment names them.
        zoned: Columns of instants; if there are any, the file asks for their time zone.

    >>> text = skeleton({"visits": ("visits.parquet", {"cost": "real", "ward": "text"})})
    >>> print(*[line for line in text.splitlines() if line.startswith(("cost", "ward"))], sep="\n")
    cost = { type = "real" }  # bounds = [low, high]
    ward = { type = "text" }  # keys = ["…", "…"]
    """
    if not tables:
        raise InvalidError("The source has no table.", argument="tables", hint="Name a source with a table.")
    parts = [_TOP.format(ledger=string(_ledger(tables)))]
    parts += [_TIMEZONE.format(columns=", ".join(map(quoted, zoned)))] if zoned else []
    for name, (source, schema) in tables.items():
        _check_writable(name, source, schema)
        named = "" if table is None else f"table = {string(table)}\n"
        note = "" if typed else _UNTYPED
        parts.append(_TABLE.format(name=quoted(name), source=string(source), table=named, note=note))
        parts += [_line(column, kind, typed=typed) for column, kind in schema.items()]
    parts += [f"# {quoted(column)} is left out: its type cannot be used\n" for column in unusable]
    parts.append(_END.format())
    return "".join(parts)


def _line(column: str, kind: Kind, *, typed: bool) -> str:
    if typed:
        return f"{quoted(column)} = {{ type = {string(kind)} }}  # {_ADD[kind]}\n"
    return f'{quoted(column)} = {{ }}  # type = "integer", bounds = [low, high]; or keys = ["…", "…"]\n'


def _ledger(tables: Mapping[str, object]) -> str:
    """Return a name for the ledger: the first table's, if it needs no quotes."""
    first = next(iter(tables))
    return f"{first if quoted(first) == first else 'policy'}.ledger"


def _check_writable(name: str, source: str, schema: Mapping[str, Kind]) -> None:
    """Raise InvalidError for a source with a secret, and for names that UTF-8 cannot encode."""
    if holds_secret(source):
        raise InvalidError(
            "The source contains a password or a key.",
            argument="source",
            hint="Write ${NAME} in its place and set that environment variable.",
        )
    for text in (name, source, *schema):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidError(f"UTF-8 cannot encode {show(ascii(text))}.", argument="tables", hint="Rename it.")
