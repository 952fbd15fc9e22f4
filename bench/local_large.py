"""Time the projective geometry response at size: decoding, compared with one transform, and 100 million reports."""

from __future__ import annotations

from typing import cast

from peers import Worker
from report import Part, Verdict
from rounds import short

DECODED, ROUNDS, SLOWER = 65_536, 15, 10.0
D, N, PART, SHARE, MEMORY = 100_000, 10**8, 5 * 10**6, 0.2, 2048

TEXT = """\
### Projective geometry response at size

A tally over d = {decoded:,} values, ε = 1 (q = {field:g}, t = {dimension:g}), is decoded in {decode:.1f} ms.
`numpy.fft.rfftn` on a grid of that shape takes {plain:.1f} ms. tacit adds {n:,} reports over d = {d:,} values, in parts
of {part:,}, at {rate} million per second. `numpy.bincount` counts the same numbers, already 64-bit integers, at
{counted} million per second. The peak memory of the process was {megabytes:,.0f} MB, including the interpreter, all
libraries and the reports of a part."""


def measure(*, tiny: bool) -> Part:
    """Run in separate processes, so that the peak memory is that of the task."""
    print("decoding and a stream of reports …", flush=True)
    with Worker("tacit_local_large") as worker:
        decoded = _numbers(worker, "decode", d=DECODED, rounds=2 if tiny else ROUNDS)
    n = N // 20 if tiny else N
    with Worker("tacit_local_large") as worker:
        streamed = _numbers(worker, "stream", d=D, n=n, part=PART)
    share = streamed["plain"] / streamed["seconds"]
    text = TEXT.format(
        decoded=DECODED,
        field=decoded["field"],
        dimension=decoded["dimension"],
        decode=1e3 * decoded["seconds"],
        plain=1e3 * decoded["plain"],
        n=n,
        d=D,
        part=PART,
        rate=short(1e-6 * n / streamed["seconds"]),
        counted=short(1e-6 * n / streamed["plain"]),
        megabytes=streamed["megabytes"],
    )
    size = f"{n // 10**6} M reports, d = {D:,}"
    return Part(
        text,
        [
            Verdict(
                f"PGR decodes d = {DECODED:,}: time ÷ numpy.fft.rfftn",
                f"≤ {SLOWER:g}",
                short(decoded["ratio"]),
                decoded["ratio"] <= SLOWER,
            ),
            Verdict(f"PGR, {size}: rate ÷ numpy.bincount", f"≥ {SHARE:g}", short(share), share >= SHARE),
            Verdict(
                f"PGR, {size}: memory",
                "≤ 2 GiB",
                f"{streamed['megabytes']:,.0f} MB",
                streamed["megabytes"] <= MEMORY and streamed["reports"] == n,
            ),
        ],
    )


def _numbers(worker: Worker, task: str, **request: int) -> dict[str, float]:
    return cast("dict[str, float]", worker.ask(task, **request))
