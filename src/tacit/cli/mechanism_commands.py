"""The commands on numbers and guarantees, without any database: release, compose."""

from __future__ import annotations

from tacit.cli import options


def release(  # noqa: PLR0913 - one for each option
    values: options.TrueValuesArgument,
    *,
    sensitivity: options.SensitivityOption = None,
    mechanism: options.MechanismOption = "laplace",
    epsilon: options.ReleaseEpsilonOption = None,
    delta: options.ReleaseDeltaOption = None,
    rho: options.ReleaseRhoOption = None,
    scale: options.ScaleOption = None,
    sigma: options.SigmaOption = None,
    confidence: options.ConfidenceOption = 0.95,
    json: options.JsonOption = False,
) -> None:
    """Add noise to numbers that you already have, and print them with their error and their law."""
    from tacit.cli import release_values  # noqa: PLC0415 - heavy

    noise = release_values.NoiseOptions(
        mechanism=mechanism,
        sensitivity=sensitivity,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        scale=scale,
        sigma=sigma,
    )
    release_values.release(values, noise, confidence=confidence, json=json)


def compose(
    parts: options.PartsArgument,
    *,
    delta: options.TotalDeltaOption = None,
    epsilon: options.TotalEpsilonOption = None,
    rule: options.RuleOption = "tight",
    json: options.JsonOption = False,
) -> None:
    """Add up the privacy cost of several releases, such as laplace:epsilon=0.1 x100."""
    from tacit.cli import compose_parts  # noqa: PLC0415 - heavy

    compose_parts.compose(parts, delta=delta, epsilon=epsilon, rule=rule, json=json)
