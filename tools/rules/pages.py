"""Write the tables of a page between two marks; the rest of the page is written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from webhook.admission import GroupVersionKind, Hint, Warn
from webhook.cli.cases import parse_cases, run
from webhook.engine.catalog import Catalog
from webhook.manifests import documents
from webhook.policy import PolicyDocument, Validation, parse_policy

__all__ = ["BEGIN", "END", "made_pages"]

ROOT: Final = Path(__file__).parents[2]
BEGIN: Final = "<!-- made by `make docs` from the policies and their cases: change those -->\n"
END: Final = "<!-- end of what is made -->\n"

_SHOWN: Final = 200
"""Characters to show of a message: OM405 lists every runtime."""


def made_pages(catalog: Catalog) -> Iterator[tuple[Path, str]]:
    """The page of each API, with its expected text."""
    for page in sorted(ROOT.glob("docs/rules/*.md")):
        head, _, rest = page.read_text().partition(BEGIN)
        _, _, tail = rest.partition(END)
        yield page, f"{head}{BEGIN}\n{_tables(page.stem, catalog)}\n{END}{tail}"


def _tables(api: str, catalog: Catalog) -> str:
    files = sorted(ROOT.glob(f"policies/{api}/*.yaml"))
    found = [parse_policy(document) for file in files for document in documents.read(file)]
    heard = _heard(api, catalog)
    return "\n".join(part for policy in found for part in _of_policy(policy, heard))


def _heard(api: str, catalog: Catalog) -> dict[str, str]:
    """Code → the shortest message of its rule in the cases, under the audit profile, where all rules warn."""
    said: dict[str, set[str]] = {}
    for document in (each for file in ROOT.glob(f"policies/{api}/cases/*.yaml") for each in documents.read(file)):
        table = parse_cases(document)
        known = catalog.find(GroupVersionKind(table.target.group, table.target.version, table.target.kind))
        assert known is not None, table.target
        for case in table.cases:
            standard = case.model_copy(update={"profile": "standard"})
            hints = [hint for cause in run(standard, known, catalog).validation.causes for hint in cause.hints]
            audited = run(case.model_copy(update={"profile": "audit"}), known, catalog).validation.warnings
            heard: list[Warn | Hint] = [*audited, *hints]
            for each in heard:
                said.setdefault(each.code, set()).add(each.message)
    return {code: min(messages, key=lambda message: (len(message), message)) for code, messages in said.items()}


def _of_policy(policy: PolicyDocument, heard: Mapping[str, str]) -> Iterator[str]:
    spec = policy.spec
    yield f"## {' and '.join(spec.target.kinds)}\n"
    if spec.defaults:
        yield "| default | field | reason | why |\n|---|---|---|---|"
        for default in spec.defaults:
            yield _row(default.code, f"`{default.path}`", default.because, default.docs)
        yield ""
    if spec.validations:
        yield "| rule | field | action | says, for example | why |\n|---|---|---|---|---|"
        for rule in spec.validations:
            action = f"{rule.action}, strict: Deny" if rule.strict else rule.action
            yield _row(rule.code, _field(rule), action, _shown(heard[rule.code]), rule.docs)
        yield ""


def _field(rule: Validation) -> str:
    """The field that the rule is about; of a rule with many places the first one and their number."""
    first, *others = [(place + rule.fieldPath).lstrip(".") for place in rule.places]
    if not first:
        return "the object"
    count = {0: "", 1: " and one more place"}.get(len(others), f" and {len(others)} more places")
    return f"`{first}`{count}"


def _shown(message: str) -> str:
    short = message if len(message) <= _SHOWN else message[:_SHOWN] + "…"
    return short.replace("<", "&lt;")


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
