"""What is said of one API is data: Python that is for all APIs has no kind, group, folder or code of one."""

import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.shared import ROOT
from webhook.catalog import built_in

OWN = re.compile(r"webhook/facts/|reconciler/projections/")
"""What only an algorithm needs: each API's facts and projections."""

EXCEPTIONS = {
    "tools/coverage/definitions.py": "the text of a page",
    "tools/release/changes.py": "the headings of a page",
    "tools/site/authors.py": "explains facts to authors",
    "webhook/cli/demo.py": "sends objects of one kind",
    "webhook/cli/explain.py": "help names two kinds as examples",
    "webhook/cli/input/configurationfile.py": "an example of a value",
}
GENERAL = {"Model", "Service", "Workload", "Agent"}
"""Names of kinds that are also usual words of Python code."""


def names() -> Iterator[str]:
    for folder in (ROOT / "policies").glob("*/crds"):
        for file in (*folder.glob("*.yaml"), *folder.glob("*.json")):
            spec = (yaml.safe_load if file.suffix == ".yaml" else json.loads)(file.read_text())["spec"]
            yield spec["group"]
            yield spec["names"]["kind"]
            yield spec["names"]["plural"]
    for pack in built_in().values():
        yield from (*pack.groups, *pack.served, *pack.successors, *pack.images)
        yield from (kind for kinds in pack.served.values() for kind in kinds)


APIS = sorted(built_in())
PREFIXES = sorted(letters for pack in built_in().values() for letters in pack.codes)
WORDS = re.compile(rf"\b({'|'.join(sorted(map(re.escape, {*names()} - GENERAL - {'models'} - {*APIS})))})\b")
EXACT = re.compile(rf"^({'|'.join((*APIS, *PREFIXES))})$")
CODE = re.compile(rf"^({'|'.join(PREFIXES)})[0-9]{{3}}$")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module without its docstrings, each with its line."""
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.STRING and before not in {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}:
            yield token.start[0], token.string.lstrip("rbfuRBFU").strip("'\"")
        if token.type not in {tokenize.COMMENT, tokenize.NL}:
            before = token.type


def modules() -> list[Path]:
    return sorted(path for part in ("webhook", "reconciler", "certs", "tools") for path in (ROOT / part).rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_for_all_apis_names_none(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    if OWN.match(name) or name in EXCEPTIONS:
        return
    found = [(line, text) for line, text in texts(path) if WORDS.search(text) or EXACT.match(text) or CODE.match(text)]
    assert found == []


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_is_one(name: str) -> None:
    assert any(WORDS.search(text) or EXACT.match(text) for _, text in texts(ROOT / name))
