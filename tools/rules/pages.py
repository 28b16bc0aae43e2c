"""Write the tables of a page between its two marks; the rest of the page is written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from webhook import documents
from webhook.policy import PolicyDocument, parse_policy

__all__ = ["BEGIN", "END", "made_pages"]

ROOT: Final = Path(__file__).parents[2]
BEGIN: Final = "<!-- made by `make docs` from the policies: change those -->\n"
END: Final = "<!-- end of what is made -->\n"


def made_pages() -> Iterator[tuple[Path, str]]:
    """Each page that has the marks, with the text it should have."""
    for page in sorted(ROOT.glob("docs/rules/*.md")):
        text = page.read_text()
        if BEGIN in text:
            head, _, rest = text.partition(BEGIN)
            _, _, tail = rest.partition(END)
            yield page, f"{head}{BEGIN}\n{_tables(page.stem)}\n{END}{tail}"


def _tables(api: str) -> str:
    files = sorted(ROOT.glob(f"policies/{api}/*.yaml"))
    found = [parse_policy(document) for file in files for document in documents.read(file)]
    return "\n".join(part for policy in found for part in _of_policy(policy))


def _of_policy(policy: PolicyDocument) -> Iterator[str]:
    spec = policy.spec
    yield f"## {' and '.join(spec.target.kinds)}\n"
    if spec.defaults:
        yield "| default | field | why | |\n|---|---|---|---|"
        for default in spec.defaults:
            yield _row(default.code, f"`{default.path}`", default.because, default.docs)
        yield ""
    if spec.validations:
        yield "| rule | field | action | |\n|---|---|---|---|"
        for rule in spec.validations:
            action = f"{rule.action}, strict: Deny" if rule.strict else rule.action
            yield _row(rule.code, f"`{(rule.at + rule.fieldPath) or 'the object'}`", action, rule.docs)
        yield ""


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
