"""The cluster that the command line names."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from webhook.admission.errors import Problem, SettingsError

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

__all__ = ["add_cluster", "connected"]


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """The flags that name a cluster."""
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="the cluster (default: as kubectl)")
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig (default: the current one)")


def connected(options: argparse.Namespace) -> ApiClient:
    """A client of the cluster, by :func:`webhook.cluster.live.connect`.

    Raises:
        SettingsError: there is no such configuration.
    """
    from kubernetes.config import ConfigException  # noqa: PLC0415 - the client library takes a second to load

    from webhook.cluster.live import connect  # noqa: PLC0415 - as above

    try:
        return connect(options.kubeconfig, options.context)
    except (ConfigException, OSError) as error:
        raise SettingsError([Problem("--kubeconfig", "", f"cannot connect to a cluster: {error}")]) from error
