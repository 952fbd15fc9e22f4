"""The commands `tacit audit` and `tacit verify`. They call modules that are slow to import."""

from __future__ import annotations

from tacit.cli import audit_options, options


def audit(  # noqa: PLR0913 - one for each option
    target: audit_options.AuditTargetArgument,
    *,
    pair: audit_options.PairOption = None,
    pairs: audit_options.PairsOption = None,
    epsilon: audit_options.AuditEpsilonOption = None,
    delta: audit_options.AuditDeltaOption = None,
    samples: audit_options.SamplesOption = 100_000,
    confidence: options.ConfidenceOption = 0.999,
    time: audit_options.TimeOption = False,
    messages: audit_options.MessagesOption = False,
    batched: audit_options.BatchedOption = False,
    seed: audit_options.AuditSeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Run a Python function on neighbouring inputs, and prove a lower bound on its ε."""
    from tacit.cli import audit as group  # noqa: PLC0415 - heavy

    chosen = group.AuditOptions(
        pair=tuple(pair or ()),
        pairs=pairs,
        epsilon=epsilon,
        delta=delta,
        samples=samples,
        confidence=confidence,
        time=time,
        messages=messages,
        batched=batched,
        seed=seed,
    )
    group.audit(target, chosen, json=json)


def verify(file: audit_options.ReceiptArgument, *, json: options.JsonOption = False) -> None:
    """Check that the sensitivities, the noise and the charge of a receipt fit its guarantee."""
    from tacit.cli import verify as group  # noqa: PLC0415 - heavy

    group.verify(file, json=json)
