"""The flags that `check`, `normalise` and `explain` share."""

from __future__ import annotations

import argparse
from pathlib import Path

from webhook.cli import choices
from webhook.cli.input import configuration
from webhook.policy import Profile

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="manifest or folder; - reads stdin")
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="GLOB",
        help="skip files and folders whose path, or the end of it, matches; repeatable",
    )
    parser.add_argument(
        "--manifests-only",
        action="store_true",
        default=None,
        help="skip a named FILE that is not a manifest, as in a folder, instead of reporting it",
    )
    parser.add_argument(
        "--kustomize",
        action="store_true",
        default=None,
        help="build the folders that have a kustomization with `kustomize build` or `kubectl kustomize`, and check "
        "what they make instead of their files",
    )
    configuration.add_arguments(parser)
    parser.add_argument(
        "--view",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="manifest or folder of existing objects (`kubectl get … -o yaml`) that references may point to, and that "
        "a FILE updates; not checked themselves; repeatable",
    )
    parser.add_argument(
        "--crds",
        action="append",
        type=Path,
        default=[],
        metavar="DIR",
        help="CustomResourceDefinition or folder of them, as the cluster has them: objects of these kinds are judged "
        "by them, as are objects whose definition is among the FILEs or in the view; repeatable",
    )
    parser.add_argument(
        "--references",
        choices=["open", "closed"],
        help="whether an object that is in no file may exist in the cluster: open (the default without --view) warns "
        "of it, closed (the default with --view) reports it as missing, as the cluster does",
    )
    parser.add_argument(
        "--admission-policies",
        type=Path,
        metavar="DIR",
        help="folder of ValidatingAdmissionPolicies, MutatingAdmissionPolicies, bindings and params, evaluated for "
        "every kind, as the API server does",
    )
    parser.add_argument(
        "--profile",
        choices=[profile.value for profile in Profile],
        help="how strict to be (default standard)",
    )
    choices.add_arguments(parser)
    parser.set_defaults(verbose=False, old=[], git=None)
