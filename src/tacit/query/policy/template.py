"""A policy to fill in, from schemas alone: `tacit init`. No row is read, so nothing in it is a guess from the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacit.errors import InvalidError, show
from tacit.query.expressions import Kind
from tacit.query.policy.locations import holds_secret
from tacit.query.policy.toml_lines import quoted, string

_TOP = """\
# A policy for tacit: what is public about the data, and how much may be learned from them.
# It was written from the schema alone. Fill in every "", and add what is public about the columns.
# Whatever you write must be known without looking at the data: from the questionnaire, a law, a price list.

# How much may be learned in all, by everybody together and for ever; less is more private. Either epsilon or rho, and
# delta, the probability that is left out of the promise; for example:
#   budget = {{ epsilon = 1.0, delta = 1e-6 }}
budget = ""

# Where spending is written down. Without a ledger each session starts with the whole budget again.
ledger = {ledger}

# What is hidden: whether a unit is in the data at all ("add/remove"), or only what its rows say ("change one").
neighbours = "add/remove"
"""

_TABLE = """
[tables.{name}]
source = {source}
{table}
# Whose privacy: the column whose value says whose row it is, a person's number for example. All rows of one value are
# protected together. Only where no two rows belong together, write each_row = true instead of the next three settings.
unit = ""

# In how many groups of one answer a unit may count, and as how many rows in each. More: less is cut off, more noise.
max_groups = ""
max_rows = ""

# Each column of the source. Inside its braces, write what is public about it:
#   type = …             integer, real, text, boolean, date or timestamp; what cannot be read as that counts as missing
#   bounds = [low, high] of a number: values beyond are moved to the nearer end; sums and averages need it;
#                        of a date or a timestamp: the first and the last day to group by
#   keys = […]           the values to group by; all of them are printed, rows with other values are left out
#   hidden = true        no question may name it
{note}[tables.{name}.columns]
"""

_UNTYPED = """\
# This source has no types: a column is read as text, unless its type is written here or follows from bounds or keys.
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
) -> str:
    r"""Return a policy file to fill in.

    Args:
        tables: For each table its source, as the file shall name it, and the kind of each column.
        table: Which table of a database it is, as that must be written.
        typed: Whether the kinds are the source's own; a CSV file has none, and its types are left to be chosen.
        unusable: Columns whose types cannot be used, to be named in a comment.

    >>> text = skeleton({"visits": ("visits.parquet", {"cost": "real", "ward": "text"})})
    >>> print(*text.splitlines()[-2:], sep="\n")
    cost = { type = "real" }  # bounds = [low, high]
    ward = { type = "text" }  # keys = ["…", "…"]
    """
    if not tables:
        raise InvalidError("tables", "none", "at least one table")
    parts = [_TOP.format(ledger=string(_ledger(tables)))]
    for name, (source, schema) in tables.items():
        _refuse(name, source, schema)
        which = "" if table is None else f"table = {string(table)}\n"
        note = "" if typed else _UNTYPED
        parts.append(_TABLE.format(name=quoted(name), source=string(source), table=which, note=note))
        parts += [_line(column, kind, typed=typed) for column, kind in schema.items()]
    parts += [f"# {quoted(column)} is left out: its type cannot be used\n" for column in unusable]
    return "".join(parts)


def _line(column: str, kind: Kind, *, typed: bool) -> str:
    if typed:
        return f"{quoted(column)} = {{ type = {string(kind)} }}  # {_ADD[kind]}\n"
    return f'{quoted(column)} = {{ }}  # type = "integer", bounds = [low, high]; or keys = ["…", "…"]\n'


def _ledger(tables: Mapping[str, object]) -> str:
    """Return a name for the ledger: the first table's, where that is plain."""
    first = next(iter(tables))
    return f"{first if quoted(first) == first else 'policy'}.ledger"


def _refuse(name: str, source: str, schema: Mapping[str, Kind]) -> None:
    """Refuse what must not, or cannot, be written to a file."""
    if holds_secret(source):
        raise InvalidError("source", "one with a password or a key", "one that names ${VARIABLES} in their place")
    for text in (name, source, *schema):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidError("tables", show(ascii(text)), "names that Unicode can write")
