"""Errors: message, hint and attributes, also after pickling and copying, so that errors can cross processes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import tacit as tc
from tacit.engines.duckdb.sandbox import SandboxError, TooManyRowsError
from tacit.engines.source import declared_at
from tacit.errors import (
    NOTHING_SPENT,
    BudgetError,
    CanceledError,
    ColumnNotFoundError,
    ColumnValueError,
    CommitError,
    InternalError,
    InvalidError,
    LedgerError,
    MissingDriverError,
    MissingPackageError,
    NoLedgerError,
    NoSourceError,
    RefusedError,
    RowNotFoundError,
    SizeChangedError,
    SourceError,
    TableNotFoundError,
    TableNotNamedError,
    TacitError,
    TimeLimitError,
    TooMuchNoiseError,
    UnreadableFileError,
    UnusedKeyError,
    UnusedOptionError,
    bad_value,
)
from tacit.query.policy.mistakes import DeclaredValueError, Mistake, PolicyError

EXAMPLES: list[TacitError] = [
    TacitError("The clock is wrong.", hint="Set it."),
    bad_value("epsilon", -1, "a number > 0"),
    ColumnNotFoundError("cots", ["cost", "age"], argument="quasi"),
    ColumnValueError("age", "must hold numbers.", hint="Recode it."),
    RowNotFoundError("The answer has 3 rows, so it has no row 5."),
    MissingPackageError("altair", "A chart", extra="plot"),
    TableNotFoundError("visit", ["visits", "staff"]),
    TableNotNamedError(["visits", "staff"]),
    TooMuchNoiseError("The noise does not fit into 64 bits.", argument="scale"),
    UnreadableFileError("survey.csv", "it is empty.", argument="source", hint="Write a line of column names."),
    UnusedKeyError("town"),
    UnusedOptionError("--k", "with --draft"),
    NoSourceError("The file 'survy.csv' does not exist.", hint="Check its name."),
    RefusedError("The query selects rows."),
    CanceledError("The question was canceled before its charge."),
    BudgetError("Too little is left."),
    SizeChangedError(),
    TimeLimitError(60, charged=True),
    SourceError("The engine failed."),
    LedgerError("The ledger is corrupt."),
    NoLedgerError("The ledger is missing."),
    CommitError("The ledger could not be written."),
    MissingDriverError("psycopg", "PostgreSQL", extra="postgres"),
    InternalError("a check failed."),
    SandboxError("it took more than 10 seconds."),
    TooManyRowsError("it took more than 10 seconds."),
    PolicyError("clinic.toml", [Mistake(3, "unit", "is required"), Mistake(None, "keys", "did you mean?")]),
    DeclaredValueError("bounds", "must be two finite numbers"),
]


ONE_LINE = [error for error in EXAMPLES if not isinstance(error, PolicyError)]
"""All but the error of a policy file, which has a line for each mistake and no hint."""


def pickled(error: TacitError) -> TacitError:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert isinstance(again, TacitError)
    return again


def subclasses(kind: type[TacitError]) -> set[type[TacitError]]:
    """Return a class of errors and all classes below it that tacit defines."""
    below = {other for child in kind.__subclasses__() for other in subclasses(child)}
    return {other for other in {kind, *below} if other.__module__.startswith("tacit.")}


def test_every_class_has_an_example() -> None:
    assert {type(error) for error in EXAMPLES} == subclasses(TacitError)


@pytest.mark.parametrize("again", [pickled, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("unspent", [False, True])
def test_an_error_is_the_same_after_it_was_pickled_or_copied(
    example: TacitError, again: Callable[[TacitError], TacitError], *, unspent: bool
) -> None:
    error = copy.copy(example)
    error.unspent = unspent
    error.add_note("a note")
    twin = again(again(error))
    assert type(twin) is type(error)
    assert (str(twin), twin.message, twin.hint) == (str(error), example.message, example.hint)
    assert (twin.args, twin.unspent) == (error.args, unspent)
    assert twin.__dict__ == error.__dict__
    assert str(example) == str(again(example))


@pytest.mark.parametrize("example", ONE_LINE, ids=lambda error: type(error).__name__)
def test_the_text_is_the_message_the_hint_and_that_nothing_was_spent(example: TacitError) -> None:
    error = copy.copy(example)
    assert NOTHING_SPENT not in str(error)
    error.unspent = True
    expected = [sentence for sentence in (str(error.args[0]), error.hint, NOTHING_SPENT) if sentence]
    assert str(error) == " ".join(expected)


def test_errors_have_attributes_for_the_facts_that_programs_need() -> None:
    error = ColumnNotFoundError("cots", ["cost", "age"], argument="quasi")
    assert (error.name, error.columns, error.argument) == ("cots", ("cost", "age"), "quasi")
    assert error.hint == "Did you mean 'cost'?"
    assert ColumnNotFoundError("x", ["cost"]).hint is None
    assert ColumnValueError("age", "must hold numbers.").column == "age"
    package = MissingPackageError("altair", "A chart", extra="plot")
    assert (package.package, package.extra, "tacit[plot]" in str(package)) == ("altair", "plot", True)
    assert set(TableNotNamedError(["visits", "staff"]).tables) == {"visits", "staff"}
    assert TableNotFoundError("visit", ["visits", "staff"]).name == "visit"
    assert UnreadableFileError(Path("a.csv"), "it is empty.").path == "a.csv"
    assert UnusedOptionError("--k", "with --draft").option == "--k"
    value = bad_value("epsilon", -1, "a number > 0")
    assert (value.argument, "-1" in value.message) == ("epsilon", True)
    assert isinstance(NoSourceError("x"), SourceError)
    assert isinstance(value, ValueError)


def test_a_hint_can_be_added() -> None:
    error = TacitError("The clock is wrong.")
    error.add_hint("Set it.")
    error.add_hint("See postgresql://ann:secret@db.")
    assert str(error) == "The clock is wrong. Set it. See postgresql://ann:…@db."


@pytest.mark.parametrize("example", ONE_LINE, ids=lambda error: type(error).__name__)
def test_a_redacted_error_has_no_secret_in_any_text(example: TacitError) -> None:
    secret = copy.copy(example)
    secret.add_hint("The secret is hunter2.")
    redacted = secret.redacted(lambda text: text.replace("hunter2", "${NAME}"))
    assert type(redacted) is type(example)
    assert "hunter2" in str(secret)
    assert "hunter2" not in str(redacted)
    assert str(redacted).endswith("The secret is ${NAME}.")
    assert redacted.__dict__ == {**secret.__dict__, "hint": redacted.hint}


@pytest.mark.parametrize(
    "error",
    [
        InvalidError("postgresql://ann:secret@db", hint="postgresql://ann:secret@db"),
        NoSourceError("postgresql://ann:secret@db"),
        UnreadableFileError("postgresql://ann:secret@db", "it is a URL."),
        bad_value("source", "postgresql://ann:secret@db", "a file"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_text_has_a_password_of_a_url(error: TacitError) -> None:
    assert "secret" not in str(error) + error.message + str(error.args) + str(error.hint)


OF_SOURCES = [error for error in EXAMPLES if isinstance(error, (InvalidError, SourceError))]


@pytest.mark.parametrize("example", OF_SOURCES, ids=lambda error: type(error).__name__)
def test_the_table_of_a_policy_stays_before_the_message(example: TacitError) -> None:
    with pytest.raises(type(example)) as caught, declared_at("tables.visits"):
        raise copy.copy(example)
    assert str(pickled(caught.value)) == f"tables.visits: {example}"


POLICY = """
budget = { epsilon = 1.0 }

[tables.visits]
source = "gone.csv"
unit = "patient"
max_groups = 1
max_rows = 1
"""


def test_an_error_of_another_process_names_the_table(tmp_path: Path) -> None:
    policy = tmp_path / "clinic.toml"
    policy.write_text(POLICY, encoding="utf-8")
    with pytest.raises(NoSourceError) as here:
        tc.open(policy)
    assert str(here.value).startswith("tables.visits: ")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(NoSourceError) as there:
        pool.submit(tc.open, policy).result()
    assert str(there.value) == str(here.value)
    assert (there.value.argument, there.value.where) == (here.value.argument, here.value.where)
    assert (there.value.argument, there.value.hint) == (here.value.argument, here.value.hint)


def test_attributes_and_pickles_have_no_password_of_a_url() -> None:
    url = "postgresql://ann:secret@db"
    for error in (UnreadableFileError(url, "it is a URL."), TableNotFoundError(url, []), ColumnNotFoundError(url)):
        assert "secret" not in str(vars(error))
        assert b"secret" not in pickle.dumps(error)


def test_redaction_reaches_names_in_tuples() -> None:
    error = TableNotFoundError("hunter2", ["hunter2", "visits"])
    redacted = error.redacted(lambda text: text.replace("hunter2", "${NAME}"))
    assert "hunter2" not in str(vars(redacted))
    assert redacted.tables == ("${NAME}", "visits")
