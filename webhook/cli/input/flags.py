"""The flags that several commands share: what to read, by which rules to judge, and how to print a report."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from webhook.admission.errors import DocumentError, Problem
from webhook.cli import choices
from webhook.cli.input import configuration
from webhook.cli.shell.parser import Flags, group
from webhook.library.findings import Severity
from webhook.manifests.reading import Manifests
from webhook.policy import Profile

_READ: Final = "what to read"
_BESIDE: Final = "what else the cluster has"
COUNTS: Final = "what counts"
"""A group of flags, of which a command may have more."""

FAILING: Final = {"error": (Severity.ERROR,), "warning": tuple(Severity), "never": ()}
"""A choice of --fail-on, and the findings for which the exit code is then 1."""


def add_arguments(
    parser: argparse.ArgumentParser, number: str = "+", meaning: str = "manifest or folder; - reads stdin"
) -> None:
    """The flags of `check`, `normalise`, `explain` and `lsp`, and what a FILE is."""
    add_paths(parser, number, meaning)
    _add_builds(group(parser, _READ))
    _add_surroundings(group(parser, _BESIDE))
    add_rules(parser)
    parser.set_defaults(verbose=False, old=[], git=None, commit=None, strict=True, all=False, instead=())


def _add_builds(flags: Flags) -> None:
    """What to make of the files before they are judged."""
    flags.add_argument(
        "--kustomize",
        action="store_true",
        help="build the folders that have a kustomization with `kustomize build` or `kubectl kustomize`, and check "
        "what they make instead of their files; not for files of a stranger, which decide what these programs read",
    )
    flags.add_argument(
        "--load-restrictor",
        choices=["none", "root"],
        help="whether kustomizations may use files from above their folder: none, as Flux builds them (default), or "
        "root (default with --git and --untrusted)",
    )
    flags.add_argument(
        "--substitute",
        action=Substitute,
        default={},
        metavar="NAME=VALUE",
        help="the value of a variable of Flux, ${NAME}; repeatable. A Kustomization among the FILEs gives values, too",
    )
    flags.add_argument(
        "--substitute-file",
        action=Substitute,
        dest="substitute",
        default={},
        metavar="FILE",
        help="file with a line NAME=VALUE for each variable",
    )


def _add_surroundings(flags: Flags) -> None:
    """What the cluster has besides the files."""
    flags.add_argument(
        "--view",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="manifest or folder of existing objects (`kubectl get … -o yaml`) that references may point to, and that "
        "a FILE updates; not checked themselves; repeatable",
    )
    flags.add_argument(
        "--references",
        choices=["open", "closed"],
        help="whether an object that is in no file may exist in the cluster: open (the default without --view) warns "
        "of it, closed (the default with --view) reports it as missing, as the cluster does",
    )
    flags.add_argument(
        "--unknown-kinds",
        choices=["skip", "error"],
        help="what to do with an object of a kind that has no definition here, nor is built into the API server: skip "
        "it (default), or refuse it",
    )


def add_paths(parser: argparse.ArgumentParser, number: str, meaning: str) -> None:
    """The files to read, the definitions beside them, and the configuration."""
    parser.add_argument("files", nargs=number, type=Path, metavar="FILE", help=meaning)
    read = group(parser, _READ)
    read.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="GLOB",
        help="skip files and folders whose path, or the end of it, matches; repeatable",
    )
    configuration.add_arguments(read)
    group(parser, _BESIDE).add_argument(
        "--crds",
        action="append",
        type=Path,
        default=[],
        metavar="DIR",
        help="CustomResourceDefinition or folder of them, as the cluster has them: objects of these kinds are judged "
        "by them, as are objects whose definition is among the FILEs or in the view; repeatable",
    )


def add_rules(parser: argparse.ArgumentParser) -> None:
    """The rules by which to judge."""
    rules = group(parser, "rules")
    rules.add_argument(
        "--admission-policies",
        type=Path,
        metavar="DIR",
        help="folder of ValidatingAdmissionPolicies, MutatingAdmissionPolicies, bindings and params, evaluated for "
        "every kind, as the API server does",
    )
    rules.add_argument(
        "--profile",
        choices=[profile.value for profile in Profile],
        help="how strict to be (default standard)",
    )
    rules.add_argument(
        "--no-pins",
        action="store_false",
        dest="pins",
        default=None,
        help="do not read from the repository which releases of operators it deploys, and with which settings (such as "
        "a HelmRelease of Flux); judge as of the documented releases instead, unless --release or --crds says more",
    )
    choices.add_packs(rules)
    choices.add_arguments(parser)


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str], quiet: str, verbose: str) -> None:
    """What counts, and the format of the report, which is the first one by default; ``quiet`` and ``verbose`` say what
    these flags do.
    """
    group(parser, COUNTS).add_argument(
        "--fail-on", choices=tuple(FAILING), help="findings for which the exit code is 1 (default error)"
    )
    add_reported(parser)
    add = group(parser, "output").add_argument
    add("-o", "--output", choices=formats, default=formats[0], help=f"format on stdout (default {formats[0]})")
    add("--color", choices=("auto", "always", "never"), default="auto", help="colour (default auto: on a terminal)")
    add("-q", "--quiet", action="store_true", help=quiet)
    add("-v", "--verbose", action="store_true", help=verbose)


def add_reported(parser: argparse.ArgumentParser) -> None:
    """What is left out of the findings, and where their pages are."""
    group(parser, COUNTS).add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="CODE[,…]",
        help="leave out warnings of a code; errors cannot be left out; repeatable. In a manifest: a comment "
        "`# modelgate: ignore CODE` beside the field, or the annotation modelgate.dev/ignore",
    )
    group(parser, "output").add_argument(
        "--docs-url",
        default=os.environ.get("MODELGATE_DOCS_URL"),
        metavar="URL",
        help="address where your organisation serves the site of `make site`, so that findings link to the pages of "
        "their rules (default: none; environment: MODELGATE_DOCS_URL)",
    )


def must_have_objects(given: Manifests, options: argparse.Namespace) -> None:
    """Refuse paths in which nothing can be read.

    Raises:
        DocumentError: there is no object, and nothing that is not one is counted.
    """
    if not given.documents and (given.problems or not given.skipped):
        names = ", ".join("stdin" if str(path) == "-" else str(path) for path in options.files)
        raise DocumentError(given.problems or [Problem(names, "", "no object found")])


def excluded(given: Manifests, options: argparse.Namespace) -> list[Problem]:
    """A problem if patterns leave nothing of the paths to judge: then there is no judgement."""
    count = given.skipped["excluded"]
    if not count:
        return []
    names = ", ".join(map(str, options.files))
    return [Problem(names, "", f"nothing is left to judge: {count} files or folders are excluded")]


class Substitute(argparse.Action):
    """Collect values by name; a later one counts. A flag whose metavar is FILE names a file with them."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        del parser, option
        lines = self._lines(values) if self.metavar == "FILE" else iter([values])
        found = dict(getattr(namespace, self.dest))
        for line in lines:
            name, equals, value = line.partition("=")
            if not equals or not name.isidentifier() or not name.isascii():
                raise argparse.ArgumentError(self, f"expected NAME=VALUE, got {line!r}")
            found[name] = value
        setattr(namespace, self.dest, found)

    def _lines(self, path: str) -> Iterator[str]:
        """The lines of a file, without comments and the word that exports a variable of a shell."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise argparse.ArgumentError(self, f"{path} cannot be read: {error}") from None
        for line in text.splitlines():
            stripped = line.strip().removeprefix("export ").strip()
            if stripped and not stripped.startswith("#"):
                name, equals, value = stripped.partition("=")
                quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
                yield f"{name}{equals}{value[1:-1] if quoted else value}"
