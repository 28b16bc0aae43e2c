"""Flags that `serve`, `check` and `normalise` share: which behaviour of an API to follow."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from webhook.catalog import built_in, known_apis
from webhook.cli.shell.parser import Flags, group
from webhook.facts.settings import Behaviour, Settings
from webhook.policy import DEFAULT_RELEASE, RELEASES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare one flag per setting; None if it is not given."""
    behaviour = group(parser, "which behaviour of an API to follow")
    add_release(behaviour)
    add_set(behaviour)
    add = behaviour.add_argument
    boolean = argparse.BooleanOptionalAction
    add(
        "--ome",
        choices=[each.value for each in Behaviour],
        help="OME's behaviour: upstream's without its defects (recommended, the default), that of its newest code, or "
        "that of the code that the API document describes",
    )
    add("--ome-migration", action=boolean, help="derive an engine from a predictor, as upstream does (default)")
    add("--ome-namespace", metavar="NAME", help="namespace of the ConfigMap inferenceservice-config (default ome)")
    add(
        "--aim-documented-precision",
        action=boolean,
        help="allow all eight precisions of the API document, and warn of the four that upstream's CRDs refuse "
        "(default)",
    )
    add(
        "--aim-auto-selection",
        action=boolean,
        help="select a template for a service that names none (default: if the release in force does, 0.2.0-rc2 and "
        "later)",
    )
    add("--aim-namespace", metavar="NAME", help="namespace of AIM's operator (default kaiwo-system)")
    add = group(parser, "does it fit").add_argument
    add("--fit", action=boolean, help="judge nodes, memory of GPUs, storage and limits (default)")
    nodes = "what is known of the nodes: off reads none (default of serve and reconcile), auto finds out whether some "
    nodes += "may be added (default of files and scan); fixed, elastic"
    add("--nodes", choices=["auto", "fixed", "elastic", "off"], help=nodes)


def add_packs(flags: Flags) -> None:
    """Declare the flag for folders of APIs beside the built-in ones."""
    flags.add_argument(
        "--policies",
        action="append",
        type=Path,
        default=[],
        dest="packs",
        metavar="DIR",
        help="folder of APIs of your own, laid out as <api>/crds/ and <api>/<kind>.yaml, or one such API: their kinds "
        "and rules are added to the built-in ones; repeatable",
    )


def add_kubernetes(flags: Flags) -> None:
    """Declare the flag for the version of the cluster that native policies are printed for."""
    flags.add_argument(
        "--kubernetes",
        choices=tuple(RELEASES),
        default=str(DEFAULT_RELEASE),
        metavar="VERSION",
        help=f"the version of the cluster: {', '.join(RELEASES)} (default {DEFAULT_RELEASE}, for it and newer ones); "
        "before 1.36, mutating policies are v1beta1",
    )


def add_release(flags: Flags) -> None:
    """Declare the flag for the releases of operators; None if it is not given."""
    flags.add_argument(
        "--release",
        action="append",
        dest="releases",
        metavar="API=RELEASE",
        help="the release of an operator whose behaviour the rules describe, such as llmkube=0.9.19, or "
        "llmkube=unknown (default: the one that installs the definitions, or the documented one); repeatable",
    )


def add_set(flags: Flags) -> None:
    """Declare the flag for the settings of operators; None if it is not given."""
    flags.add_argument(
        "--set",
        action="append",
        dest="operators",
        metavar="API.NAME=VALUE",
        help="a setting of an operator that rules read, such as llmkube.hostPathRoots=/srv/models (default: what the "
        "operator does without it); repeatable",
    )


def add_without(parser: argparse.ArgumentParser, default: tuple[str, ...] | None = None) -> None:
    """Declare the flag for the APIs that an installation does not cover."""
    parser.add_argument(
        "--without",
        type=apis,
        default=default,
        metavar="API,…",
        help=f"APIs that are not covered: {', '.join(built_in())} (default: all are)",
    )


def apis(text: str) -> tuple[str, ...]:
    """The names in a list that commas separate."""
    try:
        return known_apis(filter(None, text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def chosen(options: argparse.Namespace) -> Settings:
    """The settings that the flags choose.

    Raises:
        SettingsError: with every invalid value.
    """
    from webhook.library.given import settings_of  # noqa: PLC0415 - a server, which shares the flags, does not need it

    given = {each.name: value for each in fields(Settings) if (value := getattr(options, each.name, None)) is not None}
    return settings_of(given, _flag)


def _flag(name: str) -> str:
    return {"releases": "--release", "operators": "--set"}.get(name) or f"--{name.replace('_', '-')}"
