"""The projections that a command line chooses, and their flags."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from reconciler.projection import Controller
from reconciler.projections import aim, llmaz, llmd, llmkube, ome
from reconciler.projections.aim.discovery import logs_of
from reconciler.projections.drift import Drift
from reconciler.projections.ome.models import reports_of
from reconciler.projections.prometheus import Measured, Prometheus, over_http
from reconciler.projections.remote import Client, Turns, probe
from reconciler.writer import Writer
from webhook.facts.settings import Settings

__all__ = ["APIS", "add_arguments", "controllers"]

APIS: Final = ("aim", "llmaz", "llmd", "llmkube", "ome")
"""The APIs with a projection."""


def add_arguments(parser: argparse.ArgumentParser, add: Callable[..., Any]) -> None:
    """Declare the flags; ``add(flag, default, ...)`` reads the default from the environment."""
    acting = f"APIs to write the status for, where no other controller does: {', '.join(APIS)} (default: none)"
    add("--apis", "", type=_apis, metavar="API,…", help=acting)
    roots = "directory of a node that may hold local model sources; repeatable (default: refuse all local sources)"
    parser.add_argument("--allowed-host-path-root", action="append", metavar="DIR", help=roots)
    often = "for llmkube: time between two looks at the file behind a URL (default 0: never)"
    add("--model-revalidate-interval", "0", type=float, metavar="SECONDS", help=often)
    hosts = "host that may have an address inside the cluster or its networks; repeatable (default: none)"
    parser.add_argument("--allowed-remote-host", action="append", metavar="HOST", help=hosts)
    where = "for llmd: the Prometheus that scrapes vLLM, such as http://prometheus:9090"
    add("--prometheus", metavar="URL", help=where)
    every = "for llmd: time between two decisions (default 60)"
    add("--llmd-interval", "60", type=float, metavar="SECONDS", help=every)
    idle = "for llmd: scale a model to zero after so long without requests (default 0: never)"
    add("--scale-to-zero-after", "0", type=int, metavar="SECONDS", help=idle)


def controllers(options: argparse.Namespace, settings: Settings, api: Writer) -> list[Controller]:
    """The controllers of the chosen APIs."""
    roots = options.allowed_host_path_root or os.environ.get("MODELGATE_ALLOWED_HOST_PATH_ROOT", "").split(":")
    known = {
        "aim": aim.controllers(settings, logs_of(api)),
        "llmaz": [llmaz.controller()],
        "llmd": [llmd.controller(_source(options), options.llmd_interval)],
        "llmkube": [llmkube.controller(roots, _drift(options))],
        "ome": ome.controllers(settings, reports_of(api, settings.ome_namespace)),
    }
    return [controller for api in options.apis for controller in known[api]]


def _drift(options: argparse.Namespace) -> Drift | None:
    if options.model_revalidate_interval <= 0:
        return None
    hosts = options.allowed_remote_host or os.environ.get("MODELGATE_ALLOWED_REMOTE_HOST", "").split(",")
    remote = partial(probe, connect=partial(Client, tuple(filter(None, hosts))))
    turns = Turns(max(1, options.workers - 1))  # the other worker is for what takes no time
    return Drift(remote, options.model_revalidate_interval, turns)


def _source(options: argparse.Namespace) -> llmd.Source:
    if options.prometheus is None:
        return lambda _model, _namespace: Measured(error="no address is configured (--prometheus)")
    return Prometheus(over_http(options.prometheus), options.scale_to_zero_after).measure


def _apis(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, text.split(",")))
    if unknown := sorted(set(names) - set(APIS)):
        raise argparse.ArgumentTypeError(f"unknown API {unknown[0]}: use {', '.join(APIS)}")
    return names
