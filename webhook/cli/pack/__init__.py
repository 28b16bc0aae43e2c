"""`modelgate pack`: make a folder of policies for definitions, check one, and make an image of it."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Final

from webhook.cli.shell.parser import Commands, Once, command

_EXAMPLES: Final = """\
examples:
  modelgate pack new crds/widgets.yaml               the folder acme/, for a definition of the group acme.example.com
  modelgate test acme --coverage                     its cases, and the codes without one
  modelgate pack check acme                          whether it holds all that is promised of built-in packs
  modelgate pack build acme -o acme.tar              an image of it, to be mounted in a cluster
  modelgate check --policies acme manifests/         judge by it, beside the built-in rules
"""


def add_parser(commands: Commands) -> None:
    text = "Make a folder of policies for definitions, an API whose rules you write, or check such a folder."
    actions = command(commands, "pack", text, _EXAMPLES).add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser(
        "new",
        help="make a folder with definitions, pack.yaml, a policy and cases of each kind",
        description="Make a folder with definitions, pack.yaml, and of each kind a policy, whose stubs name what the "
        "texts of its fields ask for, and a case that passes.",
    )
    new.add_argument("crds", nargs="+", type=Path, metavar="CRD", help="CustomResourceDefinitions of one API group")
    new.add_argument("--kind", action=Once, metavar="KIND", help="only this kind of those defined")
    new.add_argument("--into", type=Path, metavar="DIR", help="where to make it (default: the first word of the group)")
    new.add_argument("--force", action="store_true", help="replace files that are there")
    check = actions.add_parser(
        "check",
        help="check what cases prove of the rules of a folder, beside the built-in ones",
        description="Check a folder of APIs, or of one: its cases pass; each code fires in one and not in another, and "
        "has an example that is right; defaults change nothing a second time; no rule depends on a field that may be "
        "absent; pack.yaml names the groups and the letters of the codes. Exit code 1 if something is missing.",
    )
    check.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="the folder (default: the built-in APIs)")
    build = actions.add_parser(
        "build",
        help="write folders as an image that a pod mounts as a volume",
        description="Write folders of APIs as an image in an OCI layout, an archive that skopeo or oras copies to a "
        "registry, and print its digest. Equal folders give equal bytes. A gate prints the digest of each pack in "
        "/readyz and in the metric modelgate_catalog_info.",
    )
    build.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="folders of APIs, or of one")
    build.add_argument(
        "--beside",
        action="append",
        type=Path,
        default=[],
        metavar="DIR",
        help="other policies for the same image, such as enforcement; the APIs are then in packs; repeatable",
    )
    build.add_argument("--output", "-o", type=Path, required=True, metavar="FILE", help="the archive to write")
    build.add_argument("--tag", default="latest", metavar="TAG", help="the name in the layout (default latest)")


def run(options: argparse.Namespace) -> int:
    """Exit codes of the actions: see there."""
    name = "webhook.cli.pack." + {"check": "checking"}.get(options.action, options.action)
    return int(importlib.import_module(name).run(options))
