"""`modelgate serve`: answer a cluster's admission calls over HTTPS."""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path

from webhook.cli import choices
from webhook.policy import Profile
from webhook.serve.server import run as serve
from webhook.serve.settings import Settings

__all__ = ["add_parser", "run"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "serve",
        help="answer a cluster's admission calls",
        description="Answer AdmissionReviews on /mutate and /validate. Every flag has an environment variable: "
        "--tls-dir is MODELGATE_TLS_DIR.",
    )
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    parser.add_argument(
        "--port", type=int, dest="listen_port", help="port to listen on (default 9443; 0: any free one)"
    )
    parser.add_argument("--tls-dir", type=Path, help="directory with tls.crt and tls.key; new files are taken up")
    parser.add_argument("--profile", choices=[profile.value for profile in Profile], help="how hard to be")
    parser.add_argument(
        "--policies", type=Path, help="folder of APIs instead of the installed one; changes are taken up"
    )
    parser.add_argument(
        "--admission-policies",
        type=Path,
        metavar="DIR",
        help="folder of ValidatingAdmissionPolicies, MutatingAdmissionPolicies, their bindings and params, that have a "
        "say, too; changes are taken up",
    )
    parser.add_argument(
        "--view", choices=["none", "live"], help="know other objects: not at all (default), or by watching the cluster"
    )
    parser.add_argument("--view-kubeconfig", type=Path, help="that cluster, where it is not the one of our pod")
    parser.add_argument("--drain-seconds", type=float, help="how long to serve on after SIGTERM (default 10)")
    choices.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    flags = {name: value for name, value in vars(options).items() if name != "command"}
    return serve(Settings.of(flags, os.environ))
