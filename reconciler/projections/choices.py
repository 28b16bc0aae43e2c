"""The projections that a command line chooses, and their flags."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any, Final

from reconciler.projection import Controller
from reconciler.projections import aim, llmaz, llmd, llmkube
from reconciler.projections.prometheus import Measured, Prometheus, over_http

__all__ = ["APIS", "add_arguments", "controllers"]

APIS: Final = ("aim", "llmaz", "llmd", "llmkube")
"""The APIs with a projection."""


def add_arguments(parser: argparse.ArgumentParser, add: Callable[..., Any]) -> None:
    """Declare the flags; ``add(flag, default, ...)`` reads the default from the environment."""
    acting = f"APIs to write the status for, where no other controller does: {', '.join(APIS)} (default: none)"
    add("--apis", "", type=_apis, metavar="API,…", help=acting)
    roots = "directory of a node that may hold local model sources; repeatable (default: refuse all local sources)"
    parser.add_argument("--allowed-host-path-root", action="append", metavar="DIR", help=roots)
    where = "for llmd: the Prometheus that scrapes vLLM, such as http://prometheus:9090"
    add("--prometheus", metavar="URL", help=where)
    every = "for llmd: time between two decisions (default 60)"
    add("--llmd-interval", "60", type=float, metavar="SECONDS", help=every)
    idle = "for llmd: scale a model to zero after so long without requests (default 0: never)"
    add("--scale-to-zero-after", "0", type=int, metavar="SECONDS", help=idle)


def controllers(options: argparse.Namespace) -> list[Controller]:
    """The controllers of the chosen APIs."""
    roots = options.allowed_host_path_root or os.environ.get("MODELGATE_ALLOWED_HOST_PATH_ROOT", "").split(":")
    known = {
        "aim": aim.controllers(),
        "llmaz": [llmaz.controller()],
        "llmd": [llmd.controller(_source(options), options.llmd_interval)],
        "llmkube": [llmkube.controller(roots)],
    }
    return [controller for api in options.apis for controller in known[api]]


def _source(options: argparse.Namespace) -> llmd.Source:
    if options.prometheus is None:
        return lambda _model, _namespace: Measured(error="no address is configured (--prometheus)")
    return Prometheus(over_http(options.prometheus), options.scale_to_zero_after).measure


def _apis(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, text.split(",")))
    if unknown := sorted(set(names) - set(APIS)):
        raise argparse.ArgumentTypeError(f"unknown API {unknown[0]}: use {', '.join(APIS)}")
    return names
