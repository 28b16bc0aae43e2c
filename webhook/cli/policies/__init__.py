"""`modelgate policies`: policies of Kyverno and Gatekeeper as Kubernetes' own."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Final

from webhook.cli import choices
from webhook.cli.shell.parser import Commands, command

__all__ = ["add_parser", "run"]

_EXAMPLES: Final = """\
examples:
  modelgate policies convert kyverno/ > native.yaml             Kyverno's ValidatingPolicy and MutatingPolicy
  modelgate policies convert templates/ constraints/            Gatekeeper's templates with K8sNativeValidation
  modelgate policies convert kyverno/ | kubectl apply -f -
"""


def add_parser(commands: Commands) -> None:
    text = "Convert CEL policies of Kyverno and Gatekeeper to Kubernetes' admission policies."
    actions = command(commands, "policies", text, _EXAMPLES).add_subparsers(
        dest="action", metavar="ACTION", required=True
    )
    convert = actions.add_parser(
        "convert",
        help="print them as ValidatingAdmissionPolicies and MutatingAdmissionPolicies with bindings",
        description="Print Kyverno's ValidatingPolicy and MutatingPolicy, and Gatekeeper's templates with "
        "K8sNativeValidation and their constraints, as ValidatingAdmissionPolicies and MutatingAdmissionPolicies with "
        "bindings. Each expression is compiled as the API server does. What does not translate is listed on standard "
        "error with file, line and reason. Exit code 1 if a policy is not converted.",
    )
    convert.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="files, folders, or - for standard input")
    choices.add_kubernetes(convert)


def run(options: argparse.Namespace) -> int:
    """Exit codes: see :mod:`webhook.cli.policies.convert`."""
    return int(importlib.import_module(f"webhook.cli.policies.{options.action}").run(options))
