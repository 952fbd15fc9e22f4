"""Find the phrases of `prose_patterns.txt` in messages, docstrings, comments and docs pages.

python tools/prose_check.py             # all files that git tracks here; exit code 1 if a phrase matches
python tools/prose_check.py --count DIR # one number per kind of text, for the tree in DIR
python tools/prose_check.py FILE ...    # these files only
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATTERNS = Path(__file__).with_name("prose_patterns.txt")
ENDS = (".py", ".md", "Makefile")
FOLDERS = ("src", "tests", "docs", "bench", "tools", "examples")
WORDS = 3
_CODE = re.compile(r"``.*?``|`[^`\n]*`|^\s*>>>.*$|^\s*\.\.\. .*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of prose: its kind, the line it starts on, and its words."""

    kind: str
    line: int
    words: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, the advice for it, and whether it applies to docstring summaries only."""

    pattern: re.Pattern[str]
    advice: str
    summary: bool


def rules(path: Path = PATTERNS) -> list[Rule]:
    """Read the patterns.

    >>> len(rules()) > 30
    True
    """
    lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return [_rule(line) for line in lines]


def _rule(line: str) -> Rule:
    pattern, _, advice = line.rpartition("# ")
    summary = pattern.startswith("summary:")
    flags = re.MULTILINE if summary else re.IGNORECASE | re.MULTILINE
    return Rule(re.compile(pattern.removeprefix("summary:").rstrip(), flags), advice, summary)


def texts(path: Path) -> Iterator[Text]:
    """Yield every piece of prose in a file."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        yield from _strings(ast.parse(source))
        yield from _comments(source)
    elif path.name == "Makefile":
        lines = enumerate(source.splitlines(), 1)
        yield from (Text("makefile", number, line) for number, line in lines if "#" in line or "echo" in line)
    else:
        yield from _paragraphs(_FENCE.sub(lambda found: "\n" * found[0].count("\n"), source))


def _strings(tree: ast.Module) -> Iterator[Text]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, documented) and body and isinstance(body[0], ast.Expr):
            docstrings.add(id(body[0].value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings:
                yield Text("summary", node.lineno, node.value.strip().split("\n\n")[0].split(". ")[0])
                yield Text("docstring", node.lineno, node.value)
            elif len(node.value.split()) >= WORDS:
                yield Text("message", node.lineno, node.value)


def _comments(source: str) -> Iterator[Text]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text("comment", token.start[0], token.string.lstrip("# "))


def _paragraphs(source: str) -> Iterator[Text]:
    line = 1
    for part in source.split("\n\n"):
        yield Text("page", line, part)
        line += part.count("\n") + 2


def matches(text: Text, all_rules: list[Rule]) -> Iterator[tuple[str, str]]:
    """Yield each matching phrase with its advice.

    >>> len(list(matches(Text("message", 1, "a source that is " + "none"), rules())))
    1
    >>> list(matches(Text("message", 1, "X is not a table."), rules()))
    []
    """
    words = _CODE.sub("…", text.words)
    words = re.sub(r"(?<=\S)[ \t]*\n[ \t]*(?=[^\s|#*-])", " ", words)
    for rule in all_rules:
        if rule.summary == (text.kind == "summary"):
            yield from ((found[0], rule.advice) for found in rule.pattern.finditer(words))


def prose_files(root: Path) -> list[Path]:
    """Return the files of a repository that hold prose; hidden folders such as environments are skipped."""
    below = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.is_file()]
    files = [path for path in (*sorted(root.iterdir()), *below) if path.name.endswith(ENDS) and path.is_file()]
    return [path for path in files if not any(part.startswith(".") for part in path.relative_to(root).parts)]


def main() -> int:
    """Print each match, or the counts; return 1 if a phrase matched."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--count", type=Path, metavar="DIR", help="count matches in another tree")
    chosen = parser.parse_args()
    all_rules, counts = rules(), Counter[str]()
    for path in chosen.files or prose_files(chosen.count or ROOT):
        for text in texts(path):
            counts[f"{text.kind}s"] += 1
            found = list(matches(text, all_rules))
            counts[f"{text.kind}s that match"] += bool(found)
            for phrase, advice in found if chosen.count is None else ():
                print(f"{path}:{text.line}: {text.kind}: {phrase!r}: {advice}")
    if chosen.count is not None:
        print("\n".join(f"{name}: {number:,}" for name, number in sorted(counts.items())))
    failed = any(number for name, number in counts.items() if name.endswith("match"))
    return int(failed and chosen.count is None)


if __name__ == "__main__":
    sys.exit(main())
