"""The settings of the server: from arguments, then from the environment, then the defaults.

Each field has one environment variable, `TACIT_SERVE_` and its name. Workers get all settings through the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tacit.errors import InvalidError, bad_value

PREFIX: Final = "TACIT_SERVE_"
_RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "port": (0, 65_535),
    "workers": (1, 64),
    "threads": (1, 256),
    "waiting": (1, 100_000),
    "quantum": (0, 60),
    "auth_cache": (0, 60),
    "session_hours": (0.01, 720),
    "stop_seconds": (0, 3_600),
    "body_limit": (1_000, 100_000_000),
}
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of a server."""

    policies: tuple[str, ...] = field(metadata={"help": "the policy files, separated by commas"})
    host: str = field(default="127.0.0.1", metadata={"help": "the address to listen on"})
    port: int = field(default=8000, metadata={"help": "the port to listen on"})
    workers: int = field(default=1, metadata={"help": "the number of processes"})
    store: str = field(
        default="", metadata={"help": "the file or postgresql:// URL of people and sessions; by default the ledger"}
    )
    tls_cert: str = field(default="", metadata={"help": "the certificate for HTTPS, a PEM file"})
    tls_key: str = field(default="", metadata={"help": "the key of the certificate, a PEM file"})
    trust_header: str = field(default="", metadata={"help": "the header in which a proxy names who signed in"})
    trusted_proxies: tuple[str, ...] = field(
        default=("127.0.0.1", "::1"),
        metadata={"help": "the addresses of proxies whose headers count, separated by commas"},
    )
    plain_http: bool = field(
        default=False, metadata={"help": "1 allows passwords, cookies and tokens over plain HTTP from other machines"}
    )
    quantum: float = field(default=0.25, metadata={"help": "answers leave at multiples of so many seconds"})
    session_hours: float = field(default=12.0, metadata={"help": "how long a sign-in lasts"})
    auth_cache: float = field(default=5.0, metadata={"help": "for how many seconds a worker remembers a token"})
    body_limit: int = field(default=1_000_000, metadata={"help": "the largest body of a request, in bytes"})
    threads: int = field(default=8, metadata={"help": "how many questions one worker answers at a time"})
    waiting: int = field(default=200, metadata={"help": "how many questions may wait in one worker"})
    stop_seconds: float = field(default=30.0, metadata={"help": "how long a stop waits for requests"})
    log_level: str = field(default="info", metadata={"help": "debug, info, warning or error"})
    log_format: str = field(default="text", metadata={"help": "text or json"})

    def __post_init__(self) -> None:
        """Check each value."""
        if not self.policies:
            raise InvalidError("No policy is named.", argument="policies", hint="Name a policy file, or use --demo.")
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            _require(least <= value <= most, name, value, f"a number from {least:g} to {most:g}")
        _require(self.log_level in ("debug", "info", "warning", "error"), "log_level", self.log_level, "a level")
        _require(self.log_format in ("text", "json"), "log_format", self.log_format, "text or json")
        if bool(self.tls_cert) != bool(self.tls_key):
            raise InvalidError("HTTPS needs a certificate and its key.", argument="tls_cert", hint="Give both files.")

    @property
    def cookie_lifetime(self) -> int:
        """The seconds that a sign-in lasts."""
        return round(self.session_hours * 3600)

    def environment(self) -> dict[str, str]:
        """Return these settings as environment variables, for workers."""
        return {variable(each.name): _text(getattr(self, each.name)) for each in fields(self)}


def variable(name: str) -> str:
    """Return the environment variable of a setting.

    >>> variable("port")
    'TACIT_SERVE_PORT'
    """
    return PREFIX + name.upper()


def read_settings(
    arguments: Mapping[str, Any] = MappingProxyType({}), environment: Mapping[str, str] | None = None
) -> ServerSettings:
    """Return the settings that arguments give, then the environment, then the defaults.

    >>> read_settings({"port": 9000}, {"TACIT_SERVE_POLICIES": "clinic.toml", "TACIT_SERVE_PORT": "1"}).port
    9000

    Args:
        arguments: values by the names of settings; None stands for a missing one.
        environment: the variables; by default the process's.
    """
    variables = os.environ if environment is None else environment
    values: dict[str, Any] = {"policies": ()}
    for each in fields(ServerSettings):
        text = variables.get(variable(each.name))
        if arguments.get(each.name) is not None:
            values[each.name] = arguments[each.name]
        elif text is not None:
            values[each.name] = _READERS[str(each.type)](variable(each.name), text)
    values["policies"] = tuple(str(Path(policy).expanduser().absolute()) for policy in values["policies"])
    return ServerSettings(**values)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(int(value)) if isinstance(value, bool) else str(value)


def _list(_name: str, text: str) -> tuple[str, ...]:
    """Return the parts of a list that commas separate."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _bool(name: str, text: str) -> bool:
    _require(text.lower() in (*_TRUE, *_FALSE), name, text, "1 or 0")
    return text.lower() in _TRUE


def _number(kind: type[int | float]) -> Callable[[str, str], int | float]:
    def read(name: str, text: str) -> int | float:
        try:
            return kind(text)
        except ValueError:
            raise bad_value(name, text, "a number") from None

    return read


_READERS: Mapping[str, Callable[[str, str], object]] = {
    "tuple[str, ...]": _list,
    "str": lambda _name, text: text,
    "bool": _bool,
    "int": _number(int),
    "float": _number(float),
}


def _require(holds: bool, name: str, value: object, requirement: str) -> None:  # noqa: FBT001 - a condition
    if not holds:
        raise bad_value(name, value, requirement)
