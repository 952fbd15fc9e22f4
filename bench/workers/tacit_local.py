"""Run tacit's protocols of the local model on whole columns, with cryptographic random bits."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from local_serve import Client, Server, serve

import tacit as tc
from tacit.local.parameters import ORACLES


def make(protocol: str, epsilon: float, d: int) -> tc.local.Protocol:
    """Return a protocol by its name."""
    return ORACLES[protocol](domain=d, epsilon=epsilon)


def client(protocol: str, epsilon: float, d: int) -> Client:
    """Return the function that randomises a column."""
    return make(protocol, epsilon, d).randomize


def server(protocol: str, epsilon: float, d: int) -> Server:
    """Return the function that tallies reports and estimates counts."""
    return make(protocol, epsilon, d).estimate


if __name__ == "__main__":
    serve({name: version(name) for name in ("tacit", "numpy")}, client=client, server=server, values=np.array)
