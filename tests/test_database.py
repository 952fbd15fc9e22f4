from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import nan
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tacit.charging import SOURCE_FAILED
from tacit.database import Database
from tacit.declared import declare
from tacit.errors import BudgetError, InvalidError, LedgerError, RefusedError, SourceError, TacitError
from tacit.guarantees.exact import Number
from tacit.guarantees.filters import Budget
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, PureDP, RenyiDP
from tacit.ledger import Ledger, Request, Ticket
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.open_ledger import open_ledger
from tacit.opening import _open_ledger
from tacit.query.expressions import Kind
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.policy.arguments import ARGUMENTS
from tacit.query.policy.declaration import Policy
from tacit.query.policy.engine_settings import EngineSettings

VISITS = TablePolicy(
    name="visits",
    unit="patient",
    max_groups=2,
    max_rows=3,
    neighbours="add/remove",
    columns=MappingProxyType(
        {
            "patient": ColumnPolicy(kind="integer"),
            "ward": ColumnPolicy(kind="text", keys=("A", "B")),
            "cost": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(100))),
            "note": ColumnPolicy(kind="text"),
            "name": ColumnPolicy(kind="text", hidden=True),
        }
    ),
)
STAFF = TablePolicy(name="staff", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns={})
QUESTION = "SELECT ward, count(*) AS n, avg(cost) AS mean FROM visits GROUP BY ward"
COUNT = "SELECT count(*) AS n FROM visits"


def book(ledger: Any, budget: Any, analysts: dict[str, PureDP] | None = None) -> Ledger:  # noqa: ANN401 - wrong on purpose
    """Open a ledger for a policy of one table with this budget."""
    policy = Policy(origin=ARGUMENTS, budget=budget, tables={}, analysts=analysts or {})
    return _open_ledger(ledger, policy, [VISITS], accept=False)


class Engine:
    """Answer with zeros, or call the given function; record what happens in a list."""

    name, settings = "visits", EngineSettings()

    def __init__(self, seen: list[str], fails: Callable[[], Sequence[Sequence[int]]] | None = None) -> None:
        self.seen, self.fails = seen, fails

    def schema(self) -> Mapping[str, Kind]:
        return {}

    def check(self, plan: Plan) -> None:
        pass

    def ready(self) -> None:
        self.seen.append("ready")

    @property
    def keeps_state(self) -> bool:
        return True

    def measure(self, plan: Plan) -> Sequence[Sequence[int]]:
        self.seen.append("read")
        if self.fails is not None:
            return self.fails()
        return [[0] * plan.listed for bundle in plan.bundles for _ in bundle.measures]

    def close(self) -> None:
        self.seen.append("let go")


class Untouchable:
    """An engine whose every method raises but those that read nothing: the check of a plan, and whether it is there."""

    settings = EngineSettings()

    def check(self, plan: Plan) -> None:
        pass

    def ready(self) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} was read")


class Recording(MemoryLedger):
    """A ledger that writes what happens to a list."""

    def __init__(self, seen: list[str], budget: Budget | None = None) -> None:
        super().__init__(budget or PureDP(epsilon=1), "add/remove")
        self.seen = seen

    def charge(self, request: Request) -> Ticket:
        ticket = super().charge(request)
        self.seen.append("charge")
        return ticket

    def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
        self.seen.append(outcome)
        super().finish(number, outcome, answer)


def database(engine: Any, ledger: Ledger | None = None, analyst: str = "") -> Database:  # noqa: ANN401 - fakes
    tables = {"visits": (VISITS, engine), "staff": (STAFF, engine)}
    return Database(tables, ledger or MemoryLedger(PureDP(epsilon=1), "add/remove"), version="v1", analyst=analyst)


def raising(error: BaseException) -> Callable[[], Sequence[Sequence[int]]]:
    def fail() -> Sequence[Sequence[int]]:
        raise error

    return fail


# --- the order ----------------------------------------------------------------------------------------------------


def test_a_question_is_charged_then_read_then_answered() -> None:
    seen: list[str] = []
    answer = database(Engine(seen), Recording(seen)).sql(QUESTION, epsilon=0.5)
    assert seen == ["ready", "charge", "read", "answered"]
    assert [row[0] for row in answer.rows()] == ["A", "B"]
    assert answer.table.names == ("ward", "n", "mean")


def test_the_charge_is_on_disk_when_the_reading_begins(tmp_path: Path) -> None:
    def look() -> Sequence[Sequence[int]]:
        spent.append(other.spent.loss)
        return [[0]]

    spent: list[Fraction] = []
    ledger, other = (open_ledger(tmp_path / "l", PureDP(epsilon=1), "add/remove") for _ in range(2))
    database(Engine([], look), ledger).sql(COUNT, epsilon=0.25)
    assert spent == [Fraction(1, 4)]
    assert [entry.outcome for entry in other.entries()] == ["answered"]
    for one in (ledger, other):
        one.close()


def test_plan_reads_nothing_and_spends_nothing() -> None:
    db = database(Untouchable())
    planned = db.plan(QUESTION, epsilon=0.5, assume=1000)
    assert planned.cost == PureDP(epsilon=0.5)
    assert db.ledger.entries() == ()
    assert db.left == PureDP(epsilon=1)
    assert db.plan(COUNT, epsilon=500).cost == PureDP(epsilon=500)  # more than there is may be planned


def test_a_plan_says_what_it_costs_how_far_off_it_is_and_why() -> None:
    planned = database(Untouchable()).plan(QUESTION, epsilon=0.5, assume=1000, confidence=0.9)
    assert set(planned.error) == {"n", "mean"}
    # One bundle of scale 2·3/0.5 = 12: the count has three noises, and e^(-x)(8 + 5x + x²)/8 = 0.1 at x = 4.0104
    assert planned.error["n"] == pytest.approx(12 * 4.0104052, rel=1e-6)
    assert planned.error["mean"] == pytest.approx(12 * 2.302585 * 100 / 1000, rel=0.01)
    said = str(planned)
    assert "costs ε = 0.5." in said
    assert "n: off by at most 48.1249 with 90% confidence" in said
    assert planned.why in said
    wide = database(Untouchable()).plan(QUESTION, epsilon=0.5)
    assert wide.error["mean"] == 100


# --- refusals ---------------------------------------------------------------------------------------------------


def refusals() -> list[tuple[str, dict[str, Any], type[TacitError], str]]:
    return [
        ("SELECT count(wrad) FROM visits", {"epsilon": 0.1}, TacitError, "wrad"),
        ("SELECT count(*) FROM visit", {"epsilon": 0.1}, TacitError, "visit"),
        ("SELECT count(name) FROM visits", {"epsilon": 0.1}, TacitError, "name"),
        ("SELECT * FROM visits", {"epsilon": 0.1}, RefusedError, "rows"),
        ("SELECT note, count(*) FROM visits GROUP BY note", {"epsilon": 0.1}, TacitError, "note"),
        ("SELECT kurtosis(cost) FROM visits", {"epsilon": 0.1}, TacitError, "."),
        ("SELECT count(*) FROM", {"epsilon": 0.1}, TacitError, "."),
        ("DROP TABLE visits", {"epsilon": 0.1}, TacitError, "."),
        (COUNT, {"epsilon": 1.5}, BudgetError, "only 1.0 is left"),
        (COUNT, {"epsilon": 0.5, "delta": 0.1, "keys": {"x": [1]}}, InvalidError, "keys"),
        (COUNT, {}, InvalidError, "epsilon"),
        (COUNT, {"epsilon": 0}, InvalidError, "epsilon"),
        (COUNT, {"epsilon": -1}, InvalidError, "epsilon"),
        (COUNT, {"epsilon": nan}, InvalidError, "epsilon"),
        (COUNT, {"epsilon": "1"}, InvalidError, "epsilon"),
        (COUNT, {"epsilon": 1e-20}, InvalidError, "epsilon"),
        (COUNT, {"epsilon": 0.1, "delta": 2}, InvalidError, "delta"),
        (COUNT, {"epsilon": 0.1, "rho": 0.1}, InvalidError, "budget is in ε"),
        (COUNT, {"rho": 0.1}, InvalidError, "budget is in ε"),
    ]


@pytest.mark.parametrize(("query", "spend", "error", "said"), refusals())
def test_what_is_refused_is_refused_before_anything_is_read_or_spent(
    query: str, spend: dict[str, Any], error: type[TacitError], said: str
) -> None:
    db = database(Untouchable())
    with pytest.raises(error, match=said) as caught:
        db.sql(query, **spend)
    assert caught.value.unspent
    assert str(caught.value).endswith(" Nothing was spent.")
    assert db.ledger.entries() == ()
    assert db.spent == PureDP(epsilon=0)


@pytest.mark.parametrize("bad", [0.0, 1.0, 95, None, "0.9", nan])
def test_a_plan_with_a_bad_confidence_is_refused(bad: float) -> None:
    with pytest.raises(InvalidError, match="confidence"):
        database(Untouchable()).plan(COUNT, epsilon=0.1, confidence=bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "10"])
def test_a_plan_with_a_bad_assumption_is_refused(bad: int) -> None:
    with pytest.raises(InvalidError, match="assume"):
        database(Untouchable()).plan(COUNT, epsilon=0.1, assume=bad)


def test_an_engine_that_cannot_measure_a_plan_refuses_it_before_the_charge() -> None:
    class Small(Untouchable):
        def check(self, plan: Plan) -> None:
            raise InvalidError(f"The reach of {plan.listed} cells is too large.", argument="reach")

    db = database(Small())
    for ask in (db.plan, db.sql):
        with pytest.raises(InvalidError, match="reach"):
            ask(COUNT, epsilon=0.1)
    assert db.ledger.entries() == ()


# --- failures -----------------------------------------------------------------------------------------------------

TOLD = "row 7: patient 4711 has cost 99"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(TOLD),
        SourceError(TOLD),
        InvalidError(TOLD, argument="cost"),
        MemoryError(TOLD),
        StopIteration(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_failing_source_says_one_constant_sentence_and_stays_charged(error: Exception) -> None:
    seen: list[str] = []
    db = database(Engine(seen, raising(error)), Recording(seen))
    with pytest.raises(SourceError) as caught:
        db.sql(COUNT, epsilon=0.25)
    assert caught.value.message == SOURCE_FAILED
    assert not caught.value.unspent
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert seen == ["ready", "charge", "read", "failed"]
    assert db.spent == PureDP(epsilon=0.25)
    assert [entry.outcome for entry in db.ledger.entries()] == ["failed"]


@pytest.mark.parametrize("wrong", [[], [[]], [[1, 2]], [[1], [2]], [["a"]], None])
def test_an_answer_of_the_wrong_shape_is_a_failure_of_the_source(wrong: Any) -> None:  # noqa: ANN401 - wrong on purpose
    db = database(Engine([], lambda: wrong))
    with pytest.raises(SourceError) as caught:
        db.sql(COUNT, epsilon=0.25)
    assert caught.value.message == SOURCE_FAILED
    assert not caught.value.unspent
    assert db.spent == PureDP(epsilon=0.25)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interruption_is_passed_on_and_stays_charged(error: type[BaseException]) -> None:
    seen: list[str] = []
    db = database(Engine(seen, raising(error())), Recording(seen))
    with pytest.raises(error):
        db.sql(COUNT, epsilon=0.25)
    assert seen == ["ready", "charge", "read", "failed"]
    assert db.spent == PureDP(epsilon=0.25)
    assert [entry.outcome for entry in db.ledger.entries()] == ["failed"]


class Gone(Engine):
    """A source that is known to be gone."""

    def ready(self) -> None:
        raise SourceError("The source is gone.")


@pytest.mark.parametrize("how", ["sql", "verb", "declared"])
def test_a_source_that_is_known_to_be_gone_costs_nothing(how: str) -> None:
    seen: list[str] = []
    db = database(Gone(seen), Recording(seen))
    planned = db.plan(COUNT, epsilon=0.25)  # for which no source is needed
    asks: dict[str, Callable[[], object]] = {
        "sql": lambda: db.sql(COUNT, epsilon=0.25),
        "verb": lambda: db.crosstab("ward", table="visits", epsilon=0.25),
        "declared": declare([planned]).ask,
    }
    with pytest.raises(SourceError, match=r"^The source is gone\. Nothing was spent\.$"):
        asks[how]()
    assert seen == []
    assert db.spent == PureDP(epsilon=0)
    assert not db.ledger.entries()


def test_what_was_answered_is_repeated_without_its_source() -> None:
    db, ledger = versioned([])
    first, named = db.sql(COUNT, epsilon=0.25), db.sql(QUESTION, epsilon=0.25, request="monday")
    policy, _ = db._tables["visits"]
    db._tables["visits"] = policy, Gone([])  # type: ignore[assignment]  # a fake
    assert db.sql(COUNT, epsilon=0.25).rows() == first.rows()
    assert db.sql(QUESTION, epsilon=0.25, request="monday").rows() == named.rows()
    with pytest.raises(SourceError, match="gone"):
        db.sql(QUESTION, epsilon=0.1)
    assert ledger.spent.loss == Fraction(1, 2)


def test_a_ledger_that_fails_lets_nothing_be_read() -> None:
    class Broken(MemoryLedger):
        def charge(self, request: Request) -> Ticket:
            raise SourceError(request.question)

    with pytest.raises(SourceError):
        database(Untouchable(), Broken(PureDP(epsilon=1), "add/remove")).sql(COUNT, epsilon=0.1)


# --- budgets ------------------------------------------------------------------------------------------------------

SPENDS: list[tuple[Budget, dict[str, Number], Budget, Budget]] = [
    (PureDP(epsilon=1), {"epsilon": 0.1}, PureDP(epsilon=0.1), PureDP(epsilon=0.9)),
    (
        ApproxDP(epsilon=1, delta=1e-6),
        {"epsilon": 0.1, "delta": 1e-7},
        ApproxDP(epsilon=0.1, delta=0),  # Laplace noise errs less here, so δ is not spent
        ApproxDP(epsilon=0.9, delta=1e-6),
    ),
    (ZCDP(rho=1), {"rho": 0.3}, ZCDP(rho=0.3), ZCDP(rho=0.7)),
    (ApproxZCDP(rho=1, delta=1e-6), {"rho": 0.3}, ApproxZCDP(rho=0.3, delta=0), ApproxZCDP(rho=0.7, delta=1e-6)),
]


@pytest.mark.parametrize(("budget", "spend", "spent", "left"), SPENDS)
def test_spent_and_left_are_exact_in_the_budgets_currency(
    budget: Budget, spend: dict[str, Number], spent: Budget, left: Budget
) -> None:
    db = database(Engine([]), MemoryLedger(budget, "add/remove"))
    db.sql(COUNT, **spend)  # type: ignore[arg-type]  # numbers by name
    assert db.spent == spent
    assert db.left == left


def test_a_budget_can_be_spent_to_the_last_bit() -> None:
    db = database(Engine([]))
    for _ in range(10):
        db.sql(QUESTION, epsilon=0.1)
    assert db.left == PureDP(epsilon=0)
    with pytest.raises(BudgetError) as caught:
        db.sql(COUNT, epsilon=1e-9)
    assert caught.value.unspent


def test_the_ledger_knows_the_question_and_who_asked_it() -> None:
    db = database(Engine([]), analyst="ann")
    db.sql(COUNT + " -- a comment with a name", epsilon=0.1)
    (entry,) = db.ledger.entries()
    assert (entry.analyst, entry.outcome) == ("ann", "answered")
    assert "comment" not in entry.question
    assert "COUNT(*)" in entry.question.upper()


@pytest.mark.parametrize("bad", [None, GaussianDP(mu=1), RenyiDP(alpha=2, epsilon=1), 1.0])
def test_a_budget_that_cannot_be_kept_is_refused(bad: Any) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(InvalidError, match="budget"):
        book(None, bad)


def test_an_open_ledger_takes_no_other_limits_of_analysts() -> None:
    """They would not hold: nothing would be refused by them."""
    shared = MemoryLedger(PureDP(epsilon=1), "add/remove")
    with pytest.raises(InvalidError, match="analysts"):
        book(shared, PureDP(epsilon=1), {"ann": PureDP(epsilon=0.1)})


def test_a_ledger_may_be_shared_named_or_left_out(tmp_path: Path) -> None:
    shared = MemoryLedger(PureDP(epsilon=1), "add/remove")
    assert book(shared, PureDP(epsilon=1)) is shared
    assert isinstance(book(None, PureDP(epsilon=1)), MemoryLedger)
    durable = book(tmp_path / "x.ledger", PureDP(epsilon=1))
    assert (tmp_path / "x.ledger").exists()
    durable.close()


# --- the answer -----------------------------------------------------------------------------------------------------


def test_an_answer_carries_its_context_and_nothing_of_the_data() -> None:
    db = database(Engine([]))
    first, second = (db.sql(QUESTION, epsilon=0.1).receipt for _ in range(2))
    assert (first["ledger_entry"], second["ledger_entry"]) == (1, 2)
    assert first["policy_file"] == "v1"
    assert str(first["software"]).startswith("tacit ")
    assert {**first, "ledger_entry": 2} == second


def test_noise_is_fresh_each_time() -> None:
    """Twenty counts of scale 6/10^-7: equal twice with probability below 1e-7 each, so with 1e-130 all."""
    db = database(Engine([]), MemoryLedger(PureDP(epsilon=1), "add/remove"))
    answers = [db.sql(COUNT, epsilon=1e-7).rows()[0][0] for _ in range(20)]
    assert len(set(answers)) > 10


def test_a_database_lets_go_of_its_sources_and_tells_what_is_public() -> None:
    seen: list[str] = []
    with database(Engine(seen)) as db:
        assert db.tables == {"visits": VISITS, "staff": STAFF}
    assert seen == ["let go", "let go"]


def test_a_closed_database_refuses_before_the_charge() -> None:
    db = database(Engine([]))
    db.sql(COUNT, epsilon=0.25)
    db.close()
    with pytest.raises(RefusedError, match="database is closed") as caught:
        db.sql(COUNT, epsilon=0.25)
    assert caught.value.unspent
    assert db.spent == PureDP(epsilon=0.25)
    assert repr(db) == "<Database: visits, staff; left: ε = 0.75 of ε = 1, closed>"


def test_a_database_shows_what_may_be_asked_and_what_is_left() -> None:
    page = database(Untouchable())._repr_html_()
    assert "left: ε = 1 of ε = 1" in page
    assert "keys A, B" in page

    class Broken(MemoryLedger):
        @property
        def spent(self) -> Any:  # noqa: ANN401
            raise SourceError("gone")

    assert "left: unknown" in repr(database(Untouchable(), Broken(PureDP(epsilon=1), "add/remove")))


def test_an_answer_has_the_confidence_that_was_asked_for() -> None:
    answer = database(Engine([])).sql(QUESTION, epsilon=0.5, confidence=0.5)
    assert answer.confidence == 0.5
    assert "50% interval of n" in str(answer)


def test_what_is_left_can_be_compared_before_asking() -> None:
    db = database(Untouchable())
    db.check(db.plan(COUNT, epsilon=1))
    with pytest.raises(BudgetError, match=r"only 1\.0 is left"):
        db.check(db.plan(COUNT, epsilon=1.5))
    assert db.ledger.entries() == ()


def test_a_cost_that_the_budget_cannot_pay_is_refused_in_plain_words() -> None:
    with pytest.raises(InvalidError, match=r"neither epsilon nor rho.*rho=0\.01"):
        database(Untouchable(), MemoryLedger(ZCDP(rho=1), "add/remove")).plan(COUNT)
    many = "SELECT cost, count(*) FROM visits GROUP BY cost"
    for budget in (PureDP(epsilon=1), ZCDP(rho=1)):
        db = database(Untouchable(), MemoryLedger(budget, "add/remove"))
        wide = Database(
            {"visits": (replace(VISITS, max_groups=50), Untouchable())},  # type: ignore[dict-item]
            db.ledger,
            version="v1",
        )
        with pytest.raises(InvalidError, match="budget has no δ"):
            wide.sql(many, epsilon=0.1, delta=1e-3)


# --- answers again --------------------------------------------------------------------------------------------------


def versioned(seen: list[str], version: str = "2026-01", analyst: str = "") -> tuple[Database, MemoryLedger]:
    ledger = Recording(seen)
    tables = {"visits": (VISITS, Engine(seen))}
    return Database(tables, ledger, version="v1", analyst=analyst, data_version=version), ledger  # type: ignore[arg-type]


def test_a_question_asked_again_of_one_version_of_the_data_is_answered_from_the_record() -> None:
    seen: list[str] = []
    db, ledger = versioned(seen)
    first = db.sql(QUESTION, epsilon=0.25)
    again = db.sql(QUESTION.replace("SELECT", "select  ") + " -- again", epsilon=0.25, confidence=0.9)
    assert seen == ["ready", "charge", "read", "answered"]  # the second finds its answer; no source is needed
    assert ledger.spent.loss == Fraction(1, 4)
    assert again.rows() == first.rows()
    assert again.intervals(0.95).rows() == first.intervals(0.95).rows()
    assert again.receipt == first.receipt
    assert again.confidence == 0.9
    db.sql(QUESTION, epsilon=0.26)
    assert ledger.spent.loss == Fraction(51, 100)


def test_without_a_declared_version_every_answer_has_noise_of_its_own() -> None:
    seen: list[str] = []
    db, ledger = versioned(seen, version="")
    db.sql(COUNT, epsilon=0.25)
    db.sql(COUNT, epsilon=0.25)
    assert ledger.spent.loss == Fraction(1, 2)
    assert db.sql(COUNT, epsilon=0.25, request="monday").rows() == db.sql(COUNT, epsilon=0.25, request="monday").rows()
    assert ledger.spent.loss == Fraction(3, 4)
    with pytest.raises(RefusedError, match="another name"):
        db.sql(COUNT, epsilon=0.1, request="monday")
    assert ledger.spent.loss == Fraction(3, 4)


def test_an_answer_is_shown_even_if_its_outcome_cannot_be_recorded() -> None:
    class Full(MemoryLedger):
        def finish(self, number: int, outcome: str, answer: str | None = None) -> None:
            raise LedgerError(f"It is locked ({number} {outcome} {answer is None}).", hint="End that.")

    db = database(Engine([]), Full(PureDP(epsilon=1), "add/remove"))
    with pytest.warns(UserWarning, match=r"answered, but its outcome could not be recorded.* It is locked .*\)\.$"):
        assert len(db.sql(QUESTION, epsilon=0.5).rows()) == 2
    assert db.ledger.spent.loss == Fraction(1, 2)
