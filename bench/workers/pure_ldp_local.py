"""Run pure-ldp: a client object and a server object for each protocol, called once per person."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from local_serve import Client, Server, serve
from pure_ldp.frequency_oracles.direct_encoding import (  # type: ignore[import-not-found]  # installed in its environment only
    DEClient,
    DEServer,
)
from pure_ldp.frequency_oracles.hadamard_response import (  # type: ignore[import-not-found]
    HadamardResponseClient,
    HadamardResponseServer,
)
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer  # type: ignore[import-not-found]
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer  # type: ignore[import-not-found]
from serve import Missing


def index(value: int) -> int:
    """Return the index of a value, which is the value itself."""
    return value


def client(protocol: str, epsilon: float, d: int) -> Client:
    """Return the loop over people."""
    privatise = _client(protocol, epsilon, d).privatise
    return lambda values: [privatise(value) for value in values]


def server(protocol: str, epsilon: float, d: int) -> Server:
    """Return the loop over reports, from an empty server to estimates."""
    instance = _server(protocol, epsilon, d)

    def run(reports: list[Any]) -> object:
        instance.reset()
        for report in reports:
            instance.aggregate(report)
        return instance.estimate(0, suppress_warnings=True)  # updates the estimates of all values

    return run


def _client(protocol: str, epsilon: float, d: int) -> Any:  # noqa: ANN401 - the library has no types
    match protocol:
        case "GRR":
            return DEClient(epsilon, d, index_mapper=index)
        case "OUE":
            return UEClient(epsilon, d, use_oue=True, index_mapper=index)
        case "OLH":
            return LHClient(epsilon, d, use_olh=True, index_mapper=index)
        case "Hadamard":
            shared = _server("Hadamard", epsilon, d).get_hash_funcs()
            return HadamardResponseClient(epsilon, d, shared, index_mapper=index)
    raise Missing("not supported")


def _server(protocol: str, epsilon: float, d: int) -> Any:  # noqa: ANN401
    match protocol:
        case "GRR":
            return DEServer(epsilon, d, index_mapper=index)
        case "OUE":
            return UEServer(epsilon, d, use_oue=True, index_mapper=index)
        case "OLH":
            return LHServer(epsilon, d, use_olh=True, index_mapper=index)
        case "Hadamard":
            return HadamardResponseServer(epsilon, d, index_mapper=index)
    raise Missing("not supported")


if __name__ == "__main__":
    serve({"pure-ldp": version("pure-ldp")}, client=client, server=server)
