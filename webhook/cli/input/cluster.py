"""The cluster that the command line names."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from webhook.admission.errors import Problem, SettingsError
from webhook.cluster.connection import NoConnection, connect


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """The flags that name a cluster."""
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="the cluster (default: as kubectl)")
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig (default: the current one)")


def connected(options: argparse.Namespace) -> Any:
    """A client of the cluster, by :func:`webhook.cluster.connection.connect`.

    Raises:
        SettingsError: there is no such configuration.
    """
    try:
        return connect(options.kubeconfig, options.context)
    except (NoConnection, OSError) as error:
        raise SettingsError([Problem("--kubeconfig", "", f"cannot connect to a cluster: {error}")]) from error
