"""Lines are recorded while a random document is written, in random spellings, and must be lines again."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.query.policy.toml_lines import KeyPath, dotted_key, line_of, locate, quoted, string

BLANKS = st.sampled_from(["", " ", "\t "])
GAPS = st.sampled_from(["", " ", "\n", " # ] } = 'x\n", '\n\n  # """\n'])  # where TOML allows newlines: inside arrays
SCALARS = st.sampled_from(
    [
        "1",
        "-1_000.5e3",
        "true",
        "inf",
        "1979-05-27",
        "1979-05-27 07:32:00",
        "1979-05-27T07:32:00.5-07:00",
        "07:32:00",
        '"a # [ = \\" { \\\\"',
        "'c:\\ # \"'",
        '"""\nlines = 1\n[x]\n\\""" "quoted" """""',
        "'''\n# 'quoted' ] ''\n'''''",
        '""""""',
        '""',
        '"ε 日本"',
    ]
)
NAMES = st.one_of(
    st.sampled_from(["a", "b-1", "_", "1", "x.y", "", "ε", 'q"', "it's", "#", "=", "[t]", "tab\t", "\\", "new\nline"]),
    st.text(max_size=4).filter(lambda name: not any("\ud800" <= character <= "\udfff" for character in name)),
)


class Writer:
    """Writes a document and remembers on which line each path was written."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.text = data, ""
        self.lines: dict[KeyPath, int] = {}

    def note(self, path: KeyPath) -> None:
        self.lines.setdefault(path, self.text.count("\n") + 1)

    def add(self, *parts: str | st.SearchStrategy[str]) -> None:
        self.text += "".join(part if isinstance(part, str) else self.data.draw(part) for part in parts)

    def key(self, name: str) -> str:
        literal = f"'{name}'" if name.isprintable() and "'" not in name else string(name)
        return self.data.draw(st.sampled_from([quoted(name), string(name), literal]))

    def names(self) -> list[str]:
        return self.data.draw(st.lists(NAMES, unique=True, max_size=3))

    def value(self, path: KeyPath, depth: int) -> None:
        kind = self.data.draw(st.sampled_from(["scalar", "array", "table"] if depth else ["scalar"]))
        if kind == "scalar":
            self.add(SCALARS)
        elif kind == "array":
            self.array(path, depth)
        else:
            self.inline_table(path, depth)

    def array(self, path: KeyPath, depth: int) -> None:
        self.add("[")
        for index in range(self.data.draw(st.integers(0, 3))):
            self.add("," if index else "", GAPS)
            self.note((*path, index))
            self.value((*path, index), depth - 1)
            self.add(GAPS)
        self.add("]")

    def inline_table(self, path: KeyPath, depth: int) -> None:
        self.add("{")
        for index, name in enumerate(self.names()):
            self.add("," if index else "", BLANKS)
            self.pair(path, name, depth - 1)
            self.add(BLANKS)
        self.add("}")

    def pair(self, path: KeyPath, name: str, depth: int) -> None:
        dotted = self.data.draw(st.lists(NAMES, max_size=2))
        for end in range(len(dotted) + 1):
            self.note((*path, name, *dotted[:end]))
        self.add(self.key(name))
        for part in dotted:
            self.add(BLANKS, ".", BLANKS, self.key(part))
        self.add(BLANKS, "=", BLANKS)
        self.value((*path, name, *dotted), depth)

    def section(self, path: KeyPath) -> None:
        for name in self.names():
            self.add(BLANKS)
            self.pair(path, name, 2)
            self.add(BLANKS, "# a = 1\n")

    def table(self, name: str) -> None:
        self.note((name,))
        self.add("[", BLANKS, self.key(name), BLANKS, "] # [x]\n")
        self.section((name,))

    def tables(self, name: str) -> None:
        self.note((name,))
        for index in range(self.data.draw(st.integers(1, 3))):
            self.note((name, index))
            self.add("[[", BLANKS, self.key(name), BLANKS, "]]\n")
            self.section((name, index))
            inner = self.data.draw(st.sampled_from(["inner table", "inner tables"]))
            self.note((name, index, inner))
            self.add("[", self.key(name), ".", self.key(inner), "]\n")
            self.section((name, index, inner))


def paths(value: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # many small draws
@given(st.data())
def test_every_key_and_element_is_found_on_its_line(data: st.DataObject) -> None:
    writer = Writer(data)
    writer.section(())
    taken = {path[0] for path in writer.lines}
    for name in data.draw(st.lists(NAMES.filter(lambda name: name not in taken), unique=True, max_size=3)):
        writer.table(name) if data.draw(st.booleans()) else writer.tables(name)
    lines = locate(writer.text)
    assert lines == writer.lines
    assert set(lines) == set(paths(tomllib.loads(writer.text)))


def test_a_table_stands_where_it_is_written_out_not_where_it_is_implied() -> None:
    lines = locate('[tables.a.columns]\nx = {}\n[tables.a]\nunit = "u"\n')
    assert lines["tables",] == 1
    assert lines["tables", "a"] == 3
    assert lines["tables", "a", "unit"] == 4


def test_a_missing_key_stands_where_its_table_does() -> None:
    lines = locate("a = 1\n\n[b.c]\n")
    assert line_of(lines, ("b", "c", "missing", 3)) == 3
    assert line_of(lines, ("missing",)) == 1
    assert line_of(lines, ()) == 1
    assert line_of({}, ("a",)) == 1


@settings(deadline=None)
@given(NAMES)
def test_a_quoted_name_reads_as_itself(name: str) -> None:
    assert tomllib.loads(f"{quoted(name)} = {string(name)}") == {name: name}
    assert dotted_key(("t", name)) == f"t.{quoted(name)}"


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "\n\n  # x\n"])
def test_nothing_has_no_lines(text: str) -> None:
    assert locate(text) == {}


def test_carriage_returns_are_blanks() -> None:
    assert locate("a = 1\r\nb = [\r\n2]\r\n") == {("a",): 1, ("b",): 2, ("b", 0): 3}


def test_a_long_document_is_quick() -> None:
    text = "keys = [\n" + "".join(f'  "key {number}",\n' for number in range(100_000)) + "]\n"
    assert locate(text)["keys", 99_999] == 100_001
