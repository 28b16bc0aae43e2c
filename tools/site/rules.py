"""A page for each code: what `modelgate rule` prints."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from webhook.cli.rule import explained
from webhook.engine import catalog
from webhook.library.findings import CODES

__all__ = ["rule_pages"]


def rule_pages() -> Iterator[tuple[str, str]]:
    """The name and the text of each page, and of the list of all."""
    loaded = catalog.load()
    rows: dict[str, str] = {}
    for code, lines in explained(loaded):
        head, *rest = lines
        where = head.removeprefix(f"{code}: ")
        body, begun = [], False
        for line in rest:
            if not begun and (line.startswith("    ") or line.lstrip().startswith(("bad:", "applies:", "when   "))):
                begun = True
                body.append("```text")
            body.append(line.lstrip("\n") if begun else escape(line, quote=False))
        text = "\n".join([*body, "```"] if begun else body)
        rows[code] = where
        yield f"codes/{code.lower()}.md", f"# {code}\n\n{escape(where, quote=False)}\n\n{text}\n"
    table = "\n".join(f"| [{code}]({code.lower()}.md) | {_cell(where)} |" for code, where in sorted(rows.items()))
    others = "\n".join(f"| `{code}` | {_cell(text)} |" for code, text in CODES.items())
    rules = f"# Codes\n\n| code | kind and place |\n|---|---|\n{table}\n"
    yield "codes/index.md", f"{rules}\n## Findings without a rule\n\n| code | meaning |\n|---|---|\n{others}\n"


def _cell(text: str) -> str:
    return escape(text, quote=False).replace("|", "\\|")
