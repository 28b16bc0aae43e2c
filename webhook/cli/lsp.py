"""`modelgate lsp`: tell an editor what the gate would say of manifests while they are written."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webhook.admission.errors import Problem, SettingsError
from webhook.cli import GOOD, children, manifests
from webhook.cli.input.configuration import configured
from webhook.cli.input.flags import add_arguments, add_reported
from webhook.cli.output import say
from webhook.cli.report.building import kept_findings
from webhook.cli.report.codes import known_codes
from webhook.cli.report.report import rule_page
from webhook.cli.shell.parser import Commands, command
from webhook.cli.shell.version import version
from webhook.library.explained import Explanation
from webhook.library.findings import Finding
from webhook.library.review import ReviewedManifest
from webhook.manifests.documents import Document

if TYPE_CHECKING:
    from webhook.lsp import Desk

_EXAMPLES: Final = """\
examples:
  modelgate lsp                     what an editor starts; docs/editors.md has its settings
  modelgate lsp --tcp 7998          for an editor that connects to a port
"""
_LOOPBACK: Final = "127.0.0.1"
_MOST: Final = 10_000
"""Files of YAML and JSON in a workspace. A folder with more is a disk or a home, not a repository."""
_ENTRIES: Final = 20 * _MOST
"""Files and folders that are counted: a disk has millions."""
_FORMATS: Final = (".yaml", ".yml", ".json")


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "lsp",
        "Run a language server: editors show findings, texts of fields, values and repairs while a manifest is "
        "written. It needs the extra: pip install 'modelgate[lsp]'.",
        _EXAMPLES,
        "[FOLDER]",
    )
    add_arguments(parser, "?", "the workspace of an editor that names none (default: the current folder)")
    add_reported(parser)
    parser.add_argument("--stdio", action="store_true", help="use standard input and output, which is the default")
    parser.add_argument(
        "--tcp",
        metavar="[HOST:]PORT",
        help=f"listen on a port (default host {_LOOPBACK}; 0: any free port). There is no password: every program "
        "of this machine that connects can read the manifests",
    )
    parser.set_defaults(strict=None, min_checked=0, fail_on=None)


def run(options: argparse.Namespace) -> int:
    if options.kustomize:
        raise SettingsError([Problem("--kustomize", "", "an editor shows files as they are written: remove it")])
    lsp = import_module("webhook.lsp")  # pygls takes 0.2 s to load
    folder = (options.files or Path()).resolve()
    make = partial(lsp.ManifestServer, partial(_desk, options), folder, version())
    if options.tcp is None:
        lsp.serve_stdio(make)
    else:
        lsp.serve_tcp(make, *_address(options.tcp), partial(say, file=sys.stderr))
    return GOOD


def _address(text: str) -> tuple[str, int]:
    """The host and the port of --tcp.

    Raises:
        SettingsError: it has no port.
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise SettingsError([Problem("--tcp", "", f"{text[:60]!r} is not [HOST:]PORT, such as 7998")])
    return host.strip("[]") or _LOOPBACK, int(port)


def _desk(options: argparse.Namespace, root: Path) -> Desk:
    """What is in a folder, and what its configuration says.

    Raises:
        CatalogError, DocumentError, SettingsError: as :func:`webhook.cli.manifests.outcomes`.
    """
    os.chdir(root)  # the configuration is that of the folder
    too_large = _is_too_large(root)
    given = argparse.Namespace(**{**vars(options), "files": [] if too_large else [root]})
    options = configured(given)
    surrounded = manifests.surrounded(options)
    ignored, docs = known_codes(options.ignore, surrounded.codes), options.docs_url or ""

    def findings(outcome: ReviewedManifest, review: Callable[[Document], ReviewedManifest]) -> list[Finding]:
        return kept_findings(outcome, review, ignored, surrounded.codes)[0]

    def page(code: str) -> str:
        return rule_page(code, docs) if docs else ""

    desk: Desk = import_module("webhook.lsp").Desk(
        root=root,
        given=surrounded.given,
        rulings=surrounded.rulings,
        there=surrounded.there,
        read=surrounded.read,
        settled=surrounded.settled,
        findings=findings,
        page=page,
        children=_children,
        explanation=_explanation,
        remark=f"only open files are judged: {root} has too many files" if too_large else "",
        policies=options.admission_policies,
        strict_kinds=options.unknown_kinds == "error",
    )
    return desk


def _is_too_large(root: Path) -> bool:
    count, entries = 0, 0
    for _, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]  # they are not read, see Reading
        count += sum(name.endswith(_FORMATS) for name in files)
        entries += len(folders) + len(files)
        if count > _MOST or entries > _ENTRIES:
            return True
    return False


def _children(review: ReviewedManifest) -> str:
    """What the operator makes of an object, as YAML."""
    texts = [*map(children.commented, review.describe())]
    return "".join(f"{text}\n" for text in texts) or f"# no description says what an operator makes of {review.title}\n"


def _explanation(review: ReviewedManifest, explanation: Explanation) -> str:
    page = import_module("webhook.cli.report.explanation")
    text: str = page.render([page.ExplainedObject(review.document.where, explanation, review.describe)])
    return text
