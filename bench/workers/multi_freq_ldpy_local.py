"""Run multi-freq-ldpy: a function for each protocol, called once per person; numba compiles some of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from local_serve import Client, Server, serve
from multi_freq_ldpy.pure_frequency_oracles.GRR import (  # type: ignore[import-not-found]  # installed in its environment only
    GRR_Aggregator_MI,
    GRR_Client,
)
from multi_freq_ldpy.pure_frequency_oracles.LH import (  # type: ignore[import-not-found]
    LH_Aggregator_MI,
    LH_Client,
)
from multi_freq_ldpy.pure_frequency_oracles.UE import (  # type: ignore[import-not-found]
    UE_Aggregator_MI,
    UE_Client,
)
from serve import Missing

CLIENTS: dict[str, Callable[..., Any]] = {"GRR": GRR_Client, "OUE": UE_Client, "OLH": LH_Client}
SERVERS: dict[str, Callable[..., Any]] = {"GRR": GRR_Aggregator_MI, "OLH": LH_Aggregator_MI}


def client(protocol: str, epsilon: float, d: int) -> Client:
    """Return the loop over people, after one call that compiles the function."""
    if protocol not in CLIENTS:
        raise Missing("not supported")
    randomise = CLIENTS[protocol]
    randomise(0, d, epsilon)
    return lambda values: [randomise(value, d, epsilon) for value in values]


def server(protocol: str, epsilon: float, d: int) -> Server:
    """Return the aggregator."""
    if protocol == "OUE":
        return lambda reports: UE_Aggregator_MI(reports, epsilon)
    if protocol not in SERVERS:
        raise Missing("not supported")
    return lambda reports: SERVERS[protocol](reports, d, epsilon)


if __name__ == "__main__":
    serve({"multi-freq-ldpy": version("multi-freq-ldpy")}, client=client, server=server)
