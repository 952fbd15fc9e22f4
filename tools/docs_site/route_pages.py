"""The page of all routes of the server, from its OpenAPI description: roles, parameters, bodies and responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from docs_site.docstrings import markdown, prose
from docs_site.pages import Page, code, sentence, table

from tacit.web.app import create_app
from tacit.web.settings import ServerSettings

PATH = "reference/code/routes.md"
_MEDIA = "application/json"

Json = Mapping[str, Any]


def description() -> Json:
    """Return the OpenAPI description. It needs no data: the server is not started."""
    return create_app(ServerSettings(policies=("policy.toml",))).openapi()


def routes(content: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield the method, the path and the description of each route."""
    for path, operations in content["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def bodies(content: Json) -> dict[str, Json]:
    """Return the schema of each body and response that has a name."""
    return dict(content["components"]["schemas"])


def page() -> Page:
    """Return the page."""
    content = description()
    found = list(routes(content))
    rows = [
        [
            f"[{code(f'{method} {path}')}](#{_anchor(method, path)})",
            one["x-tacit"]["role"],
            prose(sentence(one["summary"])),
        ]
        for method, path, one in found
    ]
    text = (
        "# Every route",
        prose(content["info"]["description"]),
        "[The server and its API](../server.md) says how to sign in, what a key does, and which errors there are.",
        table(["route", "role", "what it does"], rows),
        *(_route(method, path, one) for method, path, one in found),
        "## Bodies",
        *(_body(name, schema) for name, schema in bodies(content).items()),
    )
    return Page(
        PATH,
        "\n\n".join(text) + "\n",
        "Each address of the server with its role, its parameters, its body and its responses.",
    )


def _anchor(method: str, path: str) -> str:
    return "-".join([method.lower(), *(part.strip("{}") for part in path.strip("/").replace(".", "-").split("/"))])


def _route(method: str, path: str, one: Json) -> str:
    heading = f"({_anchor(method, path)})=\n## {prose(one['summary'])}"
    parts = [heading, f"{code(f'{method} {path}')}, role {one['x-tacit']['role']}", markdown(one["description"])]
    parameters = [
        [code(each["name"]), each["in"], prose(sentence(each.get("description", "")))]
        for each in one.get("parameters", ())
    ]
    if parameters:
        parts.append(table(["parameter", "in", "meaning"], parameters))
    body = one.get("requestBody", {}).get("content", {}).get(_MEDIA, {}).get("schema")
    if body:
        parts.append(f"Body: {_kind(body)}.")
    parts.append(_responses(one["responses"]))
    return "\n\n".join(parts)


def _responses(responses: Json) -> str:
    """Return a sentence with the statuses of success and of errors."""
    done = [f"{status}{_content(one)}" for status, one in responses.items() if int(status) < HTTPStatus.BAD_REQUEST]
    failed = [status for status in responses if int(status) >= HTTPStatus.BAD_REQUEST]
    return f"Response: {' or '.join(done)}. Errors: {', '.join(failed)}, each a [Problem](#body-problem)."


def _content(response: Json) -> str:
    schemas = [media["schema"] for media in response.get("content", {}).values() if media.get("schema")]
    return f" with {_kind(schemas[0])}" if schemas else ""


def _body(name: str, schema: Json) -> str:
    parts = [f"(body-{name.lower()})=\n### {name}", prose(sentence(schema.get("description", "")))]
    required = schema.get("required", ())
    rows = [
        [
            code(each),
            _kind(one),
            "yes" if each in required else "no",
            prose(sentence(one["description"])) if one.get("description") else "",
        ]
        for each, one in schema.get("properties", {}).items()
    ]
    return "\n\n".join([*parts, *([table(["field", "type", "needed", "meaning"], rows)] if rows else [])])


def _kind(schema: Json) -> str:
    """Return the type of a value in words, with links to named ones."""
    text = str(schema.get("type", "any"))
    match schema:
        case {"$ref": ref}:
            name = ref.rpartition("/")[2]
            text = f"[{name}](#body-{name.lower()})"
        case {"anyOf": options}:
            text = " or ".join(dict.fromkeys(_kind(option) for option in options))
        case {"const": value}:
            text = code(str(value))
        case {"enum": values}:
            text = " or ".join(code(str(value)) for value in values)
        case {"type": "array", "items": one}:
            text = f"list of {_kind(one)}"
        case {"type": "object", "additionalProperties": dict(one)}:
            text = f"map to {_kind(one)}"
    return text
