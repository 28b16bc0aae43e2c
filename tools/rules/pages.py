"""Write the tables of a page between two marks; the rest of the page is written by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from webhook.admission import GroupVersionKind, Warn
from webhook.catalog import Catalog, Pack
from webhook.cli.cases import catalogs, parse_cases, run
from webhook.cli.rule import shown_default
from webhook.manifests import documents
from webhook.policy import PolicyDocument, Validation, parse_policy
from webhook.policy.document import Default

ROOT: Final = Path(__file__).parents[2]
BEGIN: Final = "<!-- made by `make docs` from the policies and their cases: change those -->\n"
END: Final = "<!-- end of what is made -->\n"

_SHOWN: Final = 200
"""Characters to show of a message: OM405 lists every runtime."""


def made_pages(catalog: Catalog, apis: Collection[str] = ()) -> Iterator[tuple[Path, str]]:
    """The page of each API, or of each of these, with its expected text."""
    for page in sorted(ROOT.glob("docs/rules/*.md")):
        if apis and page.stem not in apis:
            continue
        head, _, rest = page.read_text().partition(BEGIN)
        _, _, tail = rest.partition(END)
        yield page, f"{head}{BEGIN}\n{_tables(page.stem, catalog)}\n{END}{tail}"


def _tables(api: str, catalog: Catalog) -> str:
    folder = ROOT / "policies" / api
    files = sorted({*folder.glob("*.yaml")} - {folder / "pack.yaml", folder / "follow.yaml"})
    found = [parse_policy(document) for file in files for document in documents.read(file)]
    operator, heard = catalog.packs[api].operator, _heard(api, catalog)
    parts = (part for policy in found for part in _of_policy(policy, operator, heard))
    return "\n".join((*_settings(catalog.packs[api]), *parts))


def _settings(pack: Pack) -> Iterator[str]:
    """The settings of the operator that rules read."""
    if not pack.settings:
        return
    yield "## Settings of the operator\n"
    yield "| setting | default | where the operator has it | meaning |\n|---|---|---|---|"
    for name, each in pack.settings.items():
        places = ", ".join(f"`{place}`" for place in (*each.values, *each.arguments, *each.environment)) or "nowhere"
        releases = f"{pack.operator} `{each.operator}`: " if each.operator else ""
        yield _row(f"`{pack.folder.name}.{name}`", f"`{shown_default(each)}`", places, releases + each.docs)
    yield ""


Heard = Mapping[tuple[str, str], str]
"""Code and range of a rule → its shortest message in the cases, under the audit profile, where all rules warn."""


def _heard(api: str, catalog: Catalog) -> Heard:
    said: dict[tuple[str, str], set[str]] = {}
    for document in (each for file in ROOT.glob(f"policies/{api}/cases/*.yaml") for each in documents.read(file)):
        table = parse_cases(document)
        gvk = GroupVersionKind(table.target.group, table.target.version, table.target.kind)
        pairs = [(case, found) for case in table.cases for found in list(catalogs(case, api, catalog)) or [catalog]]
        for case, found in pairs:
            known = found.kinds[gvk]
            ranges = {rule.code: rule.operator for rule in known.policy.rules}
            standard, audit = (
                case.model_copy(update={"profile": profile, "release": None}) for profile in ("standard", "audit")
            )
            hints = [hint for cause in run(standard, known, found).validation.causes for hint in cause.hints]
            heard: list[Warn] = [*run(audit, known, found).validation.warnings, *hints]
            for each in heard:
                said.setdefault((each.code, ranges.get(each.code, "")), set()).add(each.message)
    return {rule: min(messages, key=lambda message: (len(message), message)) for rule, messages in said.items()}


def _of_policy(policy: PolicyDocument, operator: str, heard: Heard) -> Iterator[str]:
    spec = policy.spec

    def why(rule: Default | Validation) -> str:
        return f"{operator} `{rule.operator}`: {rule.docs}" if rule.operator else rule.docs

    kinds = " and ".join(spec.target.kinds)
    if spec.children:
        yield f"## What becomes of the {kinds}\n"
        yield "| object that the operator makes | when | if the API server refuses it |\n|---|---|---|"
        for child in spec.children:
            made = f"{child.object['kind']} ({child.object['apiVersion']})"
            made = f"{operator} `{child.operator}`: {made}" if child.operator else made
            yield _row(made, f"`{child.when}`" if child.when else "always", child.becomes)
        yield ""
    else:
        yield f"## {kinds}\n"
    if spec.defaults:
        yield "| default | field | reason | why |\n|---|---|---|---|"
        for default in spec.defaults:
            yield _row(default.code, f"`{default.path}`", default.because, why(default))
        yield ""
    if spec.validations:
        yield "| rule | field | action | says, for example | why |\n|---|---|---|---|---|"
        for rule in spec.validations:
            action = f"{rule.action}, strict: Deny" if rule.strict else rule.action
            yield _row(rule.code, _field(rule), action, _shown(heard[rule.code, rule.operator or ""]), why(rule))
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
