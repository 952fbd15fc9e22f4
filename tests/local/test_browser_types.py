"""The types of the client for browsers, compiled by TypeScript as a user's program compiles them.

A parser of ours could check only what it understands. The compiler checks what a user meets: that the package resolves,
that right uses compile and wrong ones do not. The shapes of the real objects are read by node and compared with the
types in the same way: `Record<keyof T, true>` admits neither a missing nor an additional name. `make test` installs
TypeScript into .venv if npm can reach its registry; otherwise these tests are skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tacit.local import GRR, SUE
from tacit.local.choose import BROWSER

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "src" / "tacit" / "local" / "browser"
COMPILER = ROOT / ".venv" / "typescript" / "node_modules" / "typescript" / "bin" / "tsc"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None or not COMPILER.exists(), reason="node or TypeScript is not here; `make test` installs the second"
)

RIGHT = """
import { envelope, jsonLine, open, record, type Law, type ProtocolName, type Survey, type Value } from "tacit-local";

export async function answer(parameters: string, value: Value): Promise<[Uint8Array, string]> {
  const survey: Survey = await open(parameters);
  const law: Law = survey.law;
  const name: ProtocolName = survey.protocol;
  const domain = survey.domain;
  const count: number = "size" in domain ? domain.size : domain.length;
  const bytes = record(law, count - 1, (many) => new Uint8Array(many));
  const sum: number = law.code + law.size + law.width + survey.report(true).length;
  const line: string = jsonLine(survey, bytes) + name + survey.epsilon + survey.digest + survey.line(value) + sum;
  return [envelope(survey, bytes), line];
}
"""
WRONG = {
    "the promise is not awaited": "const survey: Survey = open('{}');",
    "parameters are an object": "open({});",
    "a value is null": "(await open('{}')).report(null);",
    "a value is a list": "(await open('{}')).line(['tea']);",
    "a report is a text": "const text: string = (await open('{}')).report('tea');",
    "a line is bytes": "const bytes: Uint8Array = (await open('{}')).line('tea');",
    "a protocol that does not exist": "const name: ProtocolName = 'RAPPOR';",
    "ε is a number": "const epsilon: number = (await open('{}')).epsilon;",
    "a survey is changed": "(await open('{}')).digest = '';",
    "a law is changed": "(await open('{}')).law.size = 3;",
    "bits are a number": "record((await open('{}')).law, 0, 7);",
    "an envelope without a survey": "envelope({}, new Uint8Array(1));",
    "a name that is not exported": "import { close } from 'tacit-local';",
}
HEAD = 'import { envelope, open, record, type ProtocolName, type Survey } from "tacit-local";\n'
SHAPES = """
import * as client from {path};
const record = (names) => JSON.stringify(Object.fromEntries(names.map((name) => [name, true])));
const methods = (object) => Object.getOwnPropertyNames(Object.getPrototypeOf(object));
const members = (object) => [...Object.keys(object), ...methods(object)].filter((name) => name !== "constructor");
const [listed, counted] = await Promise.all({parameters}.map((text) => client.open(text)));
const law = {law}.filter((name) => name in listed.law);
console.log(`import * as client from "tacit-local";
import type {{ Law, ProtocolName, Survey }} from "tacit-local";
export const functions: Record<keyof typeof client, true> = ${{record(Object.keys(client))}};
export const surveys: Record<keyof Survey, true>[] = [${{record(members(listed))}}, ${{record(members(counted))}}];
export const law: Record<keyof Law, true> = ${{record(law)}};
export const domains: Survey["domain"][] = [${{JSON.stringify(listed.domain)}}, ${{JSON.stringify(counted.domain)}}];
export const names: Record<ProtocolName, true> = ${{record({names})}};`);
"""


def compile_program(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Compile a program strictly in a folder where the client is an installed package."""
    package = folder / "node_modules" / "tacit-local"
    if not package.exists():
        shutil.copytree(CLIENT, package)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (folder / "use.ts").write_text(text, encoding="utf-8")
    options = "--noEmit --strict --skipLibCheck false --target es2022 --module nodenext --lib es2022"
    command = [str(NODE), str(COMPILER), *options.split(), "use.ts"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)  # noqa: S603 - ours


def test_a_program_that_uses_every_type_compiles(tmp_path: Path) -> None:
    done = compile_program(tmp_path, RIGHT)
    assert done.returncode == 0, done.stdout


def test_wrong_uses_do_not_compile(tmp_path: Path) -> None:
    """Check all at once: `@ts-expect-error` is itself an error before a line that compiles."""
    lines = [f"// @ts-expect-error {why}\n{line}" for why, line in WRONG.items()]
    imports = [line for line in lines if "import" in line]
    blocks = [f"{{\n{line}\n}}" for line in lines if line not in imports]
    program = HEAD + "\n".join([*imports, *blocks, "export {};"])
    done = compile_program(tmp_path, program)
    assert done.returncode == 0, done.stdout
    planted = program.replace("'RAPPOR'", "'GRR'")
    assert "Unused '@ts-expect-error'" in compile_program(tmp_path, planted).stdout


def test_the_types_name_what_the_client_has(tmp_path: Path) -> None:
    parameters = [GRR(domain=["tea", "mate"], epsilon=1).parameters(), SUE(domain=9, epsilon=1).parameters()]
    script = SHAPES.format(
        path=json.dumps((CLIENT / "tacit-local.js").as_uri()),
        parameters=json.dumps(parameters),
        law=json.dumps(["protocol", "code", "size", "width"]),
        names=json.dumps(["Warner", *BROWSER]),
    )
    (tmp_path / "shapes.mjs").write_text(script, encoding="utf-8")
    shown = subprocess.run(  # noqa: S603 - ours
        [str(NODE), "shapes.mjs"], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout
    done = compile_program(tmp_path, shown)
    assert done.returncode == 0, done.stdout
    for name in ("open", "digest", "width"):
        shown = shown.replace(f'"{name}":true', '"other":true', 1)
    assert compile_program(tmp_path, shown).stdout.count("TS2353") == 3  # an unknown name each
