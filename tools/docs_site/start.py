"""The start page: a sentence on tacit, two commands, a picture, the sections, and the lists of `docs/index.md`."""

from __future__ import annotations

from docs_site.pages import Page, relinked
from docs_site.sections import INDEX, Section, lists, sections, start_toctree

PATH = "index.md"
_HERO = """# tacit

:::{container} tagline
Publish what a sensitive table says, without exposing who is in it.
:::

:::::{container} hero
::::{container} hero-text
tacit answers questions about private data with differential privacy: in SQL or Python, with the error of every number,
and with a ledger that records what was spent. It also anonymises tables, and collects answers that nobody can be blamed
for.

```sh
make demo
.venv/bin/tacit serve --demo
```

The first installs tacit and answers a first query privately. The second opens the workbench of the picture, on a
made-up survey.

[Your first private answer](tutorial/ask-a-database.md) · [Threat model](explanation/threat-model.md) ·
[Comparison](explanation/comparison.md) · [Benchmarks](project/benchmarks.md)
::::
::::{container} hero-picture
![A question and its private answer in the workbench](images/workbench/answer.png)
::::
:::::"""


def start_page(index: str) -> Page:
    """Return the start page.

    Args:
        index: the text of `docs/index.md`.
    """
    parts = lists(index)
    found = sections(index)
    listed = "\n\n".join(f"## {section.heading}\n\n{parts[section.heading]}" for section in found)
    text = [_HERO, _cards(found), relinked(listed, INDEX, PATH), start_toctree(found)]
    return Page(PATH, "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n" + "\n\n".join(text) + "\n")


def _cards(found: list[Section]) -> str:
    cards = [f":::{{container}} tile\n[{one.name}]({one.folder}/index.md)\n\n{one.purpose}\n:::" for one in found]
    return "\n\n".join(["::::{container} tiles", *cards, "::::"])
