"""`modelgate serve`: run the admission webhook."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from webhook.cli import choices, logs
from webhook.cli.shell.parser import Commands, Once, command
from webhook.policy import Profile
from webhook.serve.server import run as serve
from webhook.serve.settings import Settings


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "serve",
        "Answer AdmissionReviews over HTTPS on /mutate and /validate. Every flag has an environment "
        "variable: --tls-dir is MODELGATE_TLS_DIR.",
    )
    add = parser.add_argument
    add("--host", help="address to listen on (default 127.0.0.1; in a pod every one, of IPv4 and IPv6)")
    add("--port", type=int, dest="listen_port", help="port to listen on (default 9443; 0: any free port)")
    add("--tls-dir", type=Path, help="directory with tls.crt and tls.key; reloaded on change")
    add("--profile", choices=[profile.value for profile in Profile], help="how strict to be (default standard)")
    add(
        "--policies",
        action="append",
        type=Path,
        metavar="DIR",
        help="folder of APIs of your own: their kinds and rules are added to the built-in ones; reloaded on change; "
        "repeatable (in the variable: with commas)",
    )
    add(
        "--only-policies",
        type=Path,
        metavar="DIR",
        help="folder of APIs to use instead of the built-in ones, as for a fork; reloaded on change",
    )
    add(
        "--admission-policies",
        type=Path,
        metavar="DIR",
        help="folder of ValidatingAdmissionPolicies, MutatingAdmissionPolicies, bindings and params, evaluated beside "
        "the built-in rules; reloaded on change",
    )
    add(
        "--view",
        action=Once,
        choices=["none", "live"],
        help="other objects that rules can see: none (default), or those of the cluster, by watching it",
    )
    add("--view-kubeconfig", type=Path, help="cluster for --view=live, instead of the in-cluster configuration")
    choices.add_without(parser)
    add("--pod", metavar="NAMESPACE/NAME/UID", help="this server's pod: refused rules and policies are Events about it")
    add("--health-port", type=int, help="port for /healthz, /readyz and /metrics (default 0: the port of the webhooks)")
    add("--health-tls", action="store_true", default=None, help="serve that port over TLS instead of plain HTTP")
    _add_callers(parser)
    add("--drain-seconds", type=float, help="how long to serve after SIGTERM (default 10)")
    logs.add_arguments(parser, None, None)
    add(
        "--log-users",
        choices=["name", "hash", "none"],
        help="how lines about decisions name the user: by name (default), by a hash of it, or not at all",
    )
    add(
        "--metrics-namespaces",
        type=int,
        metavar="NUMBER",
        help="count findings by the namespace of the object, for so many namespaces; others are other (default 0)",
    )
    add("--fleet-stage", metavar="NAME", help="the stage of this cluster among others, for metrics and /readyz")
    add("--fleet-artefact", metavar="VERSION", help="the artefact of rules and policies that it is to use; as above")
    add("--trace-endpoint", metavar="URL", help="OTLP collector for traces, as http://HOST:4318/v1/traces")
    choices.add_arguments(parser)


def _add_callers(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group(
        "callers", "Who may send reviews; docs/callers.md sets up the API server."
    ).add_argument
    add("--caller", choices=["none", "mtls", "token"], help="proof that a caller must send (default none)")
    add("--client-ca", type=Path, metavar="FILE", help="for mtls: the CAs of client certificates; reloaded on change")
    add(
        "--client-name",
        action="append",
        metavar="NAME",
        help="for mtls: an allowed common name or alternative name (default: all); for token: a subject that needs no "
        "attestation; can be repeated",
    )
    add(
        "--token-audience",
        action="append",
        metavar="URL",
        help="for token: the address of the webhooks without a path, as https://NAME.NAMESPACE.svc:443; "
        "can be repeated",
    )


def run(options: argparse.Namespace) -> int:
    flags = {name: value for name, value in vars(options).items() if name != "command"}
    settings = Settings.of(flags, os.environ)
    logs.configure(settings.log_level, settings.log_format)
    return serve(settings)
