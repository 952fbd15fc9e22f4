"""`db.synthesize` through a session: check and price, then charge, read, fit and draw; or plan.

Everything that can be refused is refused in `prepare`, before the charge. After the charge the model is fitted to the
released content, so a warning about it reveals nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from types import MappingProxyType

import numpy as np

from tacit.errors import InvalidError, TooMuchNoiseError, UnusedOptionError, bad_value, show_name
from tacit.guarantees.exact import Number, fraction_between
from tacit.ledger import TableSize
from tacit.machine_memory import default_limit
from tacit.query.formatting import count_text, spell
from tacit.query.results.intervals import read_confidence
from tacit.session import Session
from tacit.synthetic import fast, synthesis_modes
from tacit.synthetic.coded_rows import ArrayRows, CodedRows
from tacit.synthetic.cost import ReleaseCost, cost_of_release
from tacit.synthetic.domain import Bins, Domain, check_usable, domain_of
from tacit.synthetic.pair_tables import Law, TableNoise, cells_of, pairs_of, table_noise
from tacit.synthetic.public_rows import public_rows
from tacit.synthetic.reading import CodedRelease, check_need, release_coded
from tacit.synthetic.release_plan import ReleasePlan
from tacit.synthetic.row_distance import WAYS, distances, measured, sum_noise, tables_of
from tacit.synthetic.row_filter import rows_of
from tacit.synthetic.row_rules import RowRules, check_rules, read_rules
from tacit.synthetic.row_source import RowSource
from tacit.synthetic.row_values import ColumnValues, given_codes, given_values, values_of
from tacit.synthetic.synthetic_report import SyntheticReport
from tacit.synthetic.synthetic_rows import SyntheticRows, read_count

_CELL_BYTES, _VALUE_BYTES, _BASE_BYTES = 160, 40, 2**26
_MOST_VARIANCE = 2.0**90
_PLANNED = {"columns": "a count of one column", "pairs": "a count of two columns"}
_PROBE = (1_000, 200_000)
Progress = Callable[[float, str], None]
_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticQuestion:
    """The arguments of a caller."""

    n: object = None
    columns: Sequence[str] | None = None
    target: str | None = None
    mode: str = "fast"
    bins: Bins | None = None
    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    where: str | None = None
    table: str | None = None
    reach: int | None = None
    given: Mapping[str, object] | None = None
    constraints: str | Sequence[str] | None = None
    report: bool = False
    share: Number = 0.1
    seconds: float | None = None
    confidence: float = 0.95
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRows:
    """A question that was checked and priced; nothing was read but a public number of rows, and nothing was spent."""

    question: SyntheticQuestion
    domain: Domain
    values: tuple[ColumnValues, ...]
    cost: ReleaseCost
    target: int | None
    count: int | None
    codes: Mapping[int, int]
    rules: RowRules | None
    share: Fraction
    """The part of the cost that measures distances."""
    size: TableSize | None
    """The public number of rows."""
    memory: int

    @property
    def law(self) -> Law:
        """The law of all noise of the release: the guarantee is in ρ for Gaussian, in ε for Laplace noise."""
        if self.question.mode == "quality":
            return "gaussian"
        neighbours, cost = self.domain.table.neighbours, self.cost
        return fast.law_of(len(self.domain.sizes), rho=cost.rho, epsilon=cost.epsilon, neighbours=neighbours)

    @property
    def amount(self) -> Fraction:
        """The whole cost in the currency of the law: ρ, or ε."""
        return self.cost.epsilon if self.law == "laplace" and self.cost.epsilon is not None else self.cost.rho

    @property
    def text(self) -> str:
        """The question, for the ledger."""
        names, where = ", ".join(self.domain.names), self.question.where
        text = f"synthetic rows ({self.question.mode}) of {self.domain.table.name}: {names}"
        return text if where is None else f"{text} where {where}"


def prepare(session: Session, question: SyntheticQuestion) -> PreparedRows:
    """Check and price a question; call it under `unspent()`."""
    session.check_open()
    read_confidence(question.confidence)
    if not isinstance(question.report, bool):
        raise bad_value("report", question.report, "True or False")
    share = fraction_between(question.share, "share", 0, 1) if question.report else Fraction(0)
    policy, where = rows_of(session, question.where, question.table)
    domain = domain_of(policy, question.columns, question.bins, question.reach, where)
    cost = cost_of_release(session, epsilon=question.epsilon, delta=question.delta, rho=question.rho)
    synthesis_modes.check(question.mode, cost, question.seconds)
    if question.seconds is not None and question.mode != "quality":
        raise UnusedOptionError("seconds", 'without mode="quality"')
    values = values_of(domain)
    codes, count = given_codes(values, question.given), read_count(question.n)
    rules = read_rules(session, question.constraints, question.table, values)
    check_rules(rules, values, given_values(values, question.given))
    target = _target(domain, question.target)
    prepared = PreparedRows(
        question=question,
        domain=domain,
        values=values,
        cost=cost,
        target=target,
        count=count,
        codes=codes,
        rules=rules,
        share=share,
        size=public_rows(session, policy, question.where),
        memory=_need(session, domain, target, count),
    )
    _check_noise(prepared)
    return prepared


def _target(domain: Domain, target: str | None) -> int | None:
    if target is None:
        return None
    if target not in domain.names:
        check_usable(domain.table, [target], "target")
        fact = f"The target {show_name(target)} is not one of the synthetic columns."
        hint = "Name it in columns=, and give it public values: keys in the policy, or bins=."
        raise InvalidError(fact, argument="target", hint=hint)
    return domain.names.index(target)


def _need(session: Session, domain: Domain, target: int | None, count: int | None) -> int:
    """Return the bytes that the tables and the rows need, or raise RefusedError."""
    sizes = domain.sizes
    tables = [*pairs_of(len(sizes)), *fast.useful_triples(sizes, target)]
    cells = cells_of(tables, sizes) + sum(sizes)
    need = _BASE_BYTES + cells * _CELL_BYTES
    check_need(session, need, f"the counts of {len(tables):,} sets of columns with {cells:,} combinations")
    if count is not None:
        need += count * len(sizes) * _VALUE_BYTES
        check_need(session, need, f"{count:,} rows")
    return need


def _check_noise(prepared: PreparedRows) -> None:
    """Raise TooMuchNoiseError if some noise might leave 64 bits: its standard deviation may be 2^45 steps."""
    if max(each.variance for each in _noises(prepared).values()) > _MOST_VARIANCE:
        hint = "Use a larger epsilon or rho, or a smaller reach."
        raise TooMuchNoiseError("The noise of the counts does not fit into 64 bits.", argument="epsilon", hint=hint)


def _noises(prepared: PreparedRows) -> dict[str, TableNoise]:
    """Return the noise of every part of a release in the fast mode, the largest that it can be."""
    coded, neighbours, law = prepared.domain.coded, prepared.domain.table.neighbours, prepared.law
    steps, sizes = coded.reach << coded.bits, prepared.domain.sizes
    model = prepared.amount * (1 - prepared.share)
    noises = {"count": table_noise(law, model * fast.COUNT_PART, 1, steps=steps, neighbours=neighbours)}
    triples = len(fast.useful_triples(sizes, prepared.target))
    rest = model
    if triples:
        rest = model * (1 - fast.COUNT_PART) * (1 - fast.TRIPLE_PART)
        part = model * (1 - fast.COUNT_PART) * fast.TRIPLE_PART
        noises["triples"] = table_noise(law, part, triples, steps=steps, neighbours=neighbours)
    first = fast.first_noises(law, rest, len(sizes), steps=steps, neighbours=neighbours)
    noises |= {("columns", "pairs")[number - 1]: noise for number, noise in first.items()}
    if prepared.share:
        part, tables = prepared.amount * prepared.share / len(WAYS), max(len(tables_of(sizes, ways)) for ways in WAYS)
        noises["distances"] = sum_noise(law, part, tables, steps=steps, neighbours=neighbours)
    return noises


def plan(prepared: PreparedRows) -> ReleasePlan:
    """Return the cost and the expected errors."""
    scale = 1 << prepared.domain.coded.bits
    noises = _noises(prepared) if prepared.question.mode == "fast" else {}
    columns = count_text(len(prepared.domain.names), "column")
    notes = [f"{columns} with {prepared.domain.cells:,} combinations of public values."]
    if prepared.size is not None:
        notes.append(f"The number of rows is public: {prepared.size.size:,}.")
    notes.append(_spent(prepared))
    return ReleasePlan(
        question=prepared.text,
        cost=prepared.cost.guarantee,
        error={f"{text} (σ)": sqrt(noises[name].variance) / scale for name, text in _PLANNED.items() if name in noises},
        memory=prepared.memory,
        notes=tuple(notes),
        events=(prepared.cost.event,),
    )


def answer(session: Session, prepared: PreparedRows, request: str | None) -> SyntheticRows:
    """Charge, read, fit and draw; return the rows with their report."""
    question = prepared.question
    spec = {
        "mode": question.mode,
        "target": prepared.target,
        "share": str(prepared.share),
        "seconds": question.seconds if question.mode == "quality" else None,
        "total": None if prepared.size is None else prepared.size.size,
    }
    sizes = () if prepared.size is None or not session.data_version else (prepared.size,)
    release = release_coded(
        session,
        prepared.domain,
        events=(prepared.cost.event,),
        question=prepared.text,
        spec=spec,
        compute=lambda rows: compute(rows, prepared),
        memory=prepared.memory,
        key=request,
        sizes=sizes,
    )
    return _rows(session, prepared, release)


def compute(rows: CodedRows, prepared: PreparedRows) -> dict[str, object]:
    """Return the content of the release: the fitted model's noisy tables, and measured distances.

    **Cost.** All noise has one law. The model takes 1 - share of ρ (or of ε), and the distances take the share, so the
    release is ρ-zCDP or ε-DP (adaptive composition; see `fast` and `row_distance`), which is what was charged.
    """
    question, sizes, neighbours = prepared.question, prepared.domain.sizes, prepared.domain.table.neighbours
    amount = prepared.amount * (1 - prepared.share)
    gaussian = prepared.law == "gaussian"
    parts = synthesis_modes.Parts(amount if gaussian else Fraction(0), None if gaussian else amount, neighbours)
    total = None if prepared.size is None else prepared.size.size
    task = synthesis_modes.Task(prepared.target, total, question.seconds, question.progress)
    inner = synthesis_modes.content(question.mode, rows, sizes, parts, task)
    content: dict[str, object] = {"model": inner}
    if prepared.share:
        model = synthesis_modes.model(question.mode, inner, sizes)
        probe = model.draw(min(max(round(model.total), _PROBE[0]), _PROBE[1]), np.random.default_rng())
        drawn = ArrayRows(probe.astype(np.uint16), np.ones(len(probe), dtype=np.int64), sizes)
        part, steps = prepared.amount * prepared.share, model.total * rows.scale
        content["measured"] = measured(rows, drawn, steps, law=prepared.law, amount=part, neighbours=neighbours)
    return content


def _rows(session: Session, prepared: PreparedRows, release: CodedRelease) -> SyntheticRows:
    question, sizes = prepared.question, prepared.domain.sizes
    model = synthesis_modes.model(question.mode, _inner(release.content), sizes)
    limit = session.memory_limit or default_limit() or 2**33
    most = max(1_000, int(limit / 2) // (len(sizes) * _VALUE_BYTES))
    source = RowSource(domain=prepared.domain, values=prepared.values, model=model, rules=prepared.rules, most=most)
    table, warnings = source.rows(prepared.count, prepared.codes, question.given or _NOTHING)
    found = release.content.get("measured")
    report = SyntheticReport(
        columns=prepared.domain.names,
        expected=getattr(model, "errors", {}),
        measured=() if found is None else distances(found, question.confidence),  # type: ignore[arg-type]  # JSON of `measured`
        confidence=question.confidence,
        spent=_spent(prepared),
        notes=model.notes,
    )
    return SyntheticRows(
        table=table,
        cost=prepared.cost.guarantee,
        receipt=release.receipt,
        report=report,
        repeated=release.repeated,
        warnings=(*source.warnings, *warnings),
        source=source,
    )


def _inner(content: Mapping[str, object]) -> Mapping[str, object]:
    inner = content["model"]
    if not isinstance(inner, Mapping):
        raise InvalidError("The recorded release is not a model.", argument="request")
    return inner


def _spent(prepared: PreparedRows) -> str:
    """Return where the cost goes, in one line."""
    cost, whole = prepared.cost, spell(prepared.cost.guarantee)
    inside = f" (as ρ = {float(cost.rho):.4g})" if cost.epsilon is not None and prepared.law == "gaussian" else ""
    model = float(100 * (1 - prepared.share))
    report = f", {100 - model:.3g}% for measured distances" if prepared.share else ""
    return f"{whole}{inside}: {model:.3g}% for the model{report}; drawing rows costs nothing."
