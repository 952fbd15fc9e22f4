from __future__ import annotations

import re
from pathlib import Path

import pytest

from policies import CLINIC, SCHEMA, Folder
from tacit.query.policy.build import build
from tacit.query.policy.file_schema import KEYS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "policy.md"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_page_documents_every_key_as_the_models_have_it() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (.+?) \| `(.+?)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {key: (want, example) for key, want, example in rows}
    nested = {f"{part}.NAME{more}" for part in ("tables", "public") for more in ("", ".columns.NAME")}  # headings
    nested.add("analysts.NAME")
    assert documented == {key: described for key, described in KEYS.items() if key not in nested}


def test_the_example_of_the_page_is_a_policy(folder: Folder) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    policy = folder.opened(example, CLINIC_DATA="x")
    assert set(policy.tables) == {"visits", "staff"}
    assert build(policy.tables["staff"], {"n": "integer"}).unit is None
    assert build(policy.tables["visits"], SCHEMA).columns["ward"].keys == ("A", "B", "C", None)


BASE = 'budget.rho = 1\n[tables.x]\nsource = "x"\nunit = "u"\nmax_groups = 1\nmax_rows = 1\n'


SOURCE = 'source = "y"\n'


def without(text: str, key: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith(f"{key} ="))


@pytest.mark.parametrize(("key", "example"), [(key, example) for key, (_, example) in KEYS.items()])
def test_every_example_is_accepted_at_its_place(  # noqa: C901, PLR0912 - a case for each part of a policy
    folder: Folder, key: str, example: str
) -> None:
    where, _, name = key.rpartition(".")
    match where:
        case "":
            folder.opened(f"{example}\n{without(CLINIC, name)}" if "=" in example else CLINIC)
        case "budget":
            rest = "rho = 1, " if name == "delta" else ""
            folder.opened(f"budget = {{ {rest}{example} }}\n{without(CLINIC, 'budget')}")
        case "analysts" if name == "NAME":
            folder.opened(f"{BASE}{example}\nrho = 1")
        case "analysts.NAME":
            plain = BASE.replace("budget.rho", "budget.epsilon") if name == "epsilon" else BASE
            folder.opened(f"{plain}[analysts.ann]\n{'rho = 1' if name == 'delta' else ''}\n{example}")
        case "tables.NAME" if "=" in example:
            folder.opened(without(without(BASE, name), "unit" if name == "each_row" else "") + example)
        case "tables.NAME.keys.N":
            other = "values" if name == "columns" else "columns"
            folder.opened(f"{BASE}[[tables.x.keys]]\n{example}\n{KEYS[f'{where}.{other}'][1]}")
        case "tables.NAME.columns":
            folder.opened(f"{BASE}[tables.x.columns]\n{example}")
        case "tables.NAME.columns.NAME":
            folder.opened(f"{BASE}[tables.x.columns.c]\n{example}")
        case "engine":
            folder.opened(f"{BASE}[engine]\n{example}")
        case "public" if name == "NAME":
            folder.opened(f'{BASE}{example}\nsource = "y"')
        case "public.NAME":
            folder.opened(f"{BASE}[public.y]\n{'' if name == 'source' else SOURCE}{example if '=' in example else ''}")
        case "public.NAME.columns" | "public.NAME.columns.NAME":
            before = "columns" if where.endswith("columns") else "columns.c"
            folder.opened(f"{BASE}[public.y]\n{SOURCE}[public.y.{before}]\n{example}")
        case _:
            assert example in CLINIC
