"""Certificates of the gate: one CA for all replicas, a short-lived leaf for each, the CA in the webhook configurations.

    lifetimes   how long CA and leaf live
    names       the names that a leaf is valid for
    authority   makes a CA, and signs a leaf with it
    issue       a fresh leaf in the directory that the server reads
    state       which CA signs, which comes next, which stay trusted; as the store keeps it
    rotation    how one CA follows another: pure, in three phases
    store       where the state lives: a directory, or a Secret of the cluster
    publish     the CA bundle in the webhook configurations, written and read back
    keeper      one look of one replica at all of these
    restore     a webhook configuration that was deleted or changed, as the chart has it
    compare     how one differs from that, field by field, and who changed it
    status      what a look found, as a file for the server
    report      faults and changes, said once, as a line and an Event
    token       a token of another ServiceAccount, for a container that may do less
    files       several files replaced as one
    api         the few REST calls to the API server; the only import of the ``kubernetes`` client
    follow      the same, remembering what watches say has not changed

Imports no other package of Modelgate: the server reads files, and does not know who wrote them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from certs.api import Api
    from certs.compare import ChangedField, differences, sentence
    from certs.errors import CertsError, ClockError, PublishError
    from certs.follow import FollowingApi
    from certs.keeper import Keeper, Look
    from certs.lifetimes import BACKDATED, Lifetimes
    from certs.names import LOCAL, Names
    from certs.publish import Configuration
    from certs.report import Events, Reporter
    from certs.restore import PUT_BACK, Restorer
    from certs.store import DirectoryStore, SecretStore, Store
    from certs.token import Account, provide

__all__ = [
    "BACKDATED",
    "LOCAL",
    "PUT_BACK",
    "Account",
    "Api",
    "CertsError",
    "ChangedField",
    "ClockError",
    "Configuration",
    "DirectoryStore",
    "Events",
    "FollowingApi",
    "Keeper",
    "Lifetimes",
    "Look",
    "Names",
    "PublishError",
    "Reporter",
    "Restorer",
    "SecretStore",
    "Store",
    "differences",
    "provide",
    "sentence",
]

_MODULES: Final = {
    "Api": "api",
    **dict.fromkeys(("ChangedField", "differences", "sentence"), "compare"),
    "FollowingApi": "follow",
    **dict.fromkeys(("CertsError", "ClockError", "PublishError"), "errors"),
    **dict.fromkeys(("Keeper", "Look"), "keeper"),
    **dict.fromkeys(("BACKDATED", "Lifetimes"), "lifetimes"),
    **dict.fromkeys(("LOCAL", "Names"), "names"),
    "Configuration": "publish",
    **dict.fromkeys(("Events", "Reporter"), "report"),
    **dict.fromkeys(("PUT_BACK", "Restorer"), "restore"),
    **dict.fromkeys(("DirectoryStore", "SecretStore", "Store"), "store"),
    **dict.fromkeys(("Account", "provide"), "token"),
}
"""The module of each name, which is loaded when the name is first used."""

if not TYPE_CHECKING:  # PEP 562; a type checker reads the imports

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        setattr(sys.modules[__name__], name, value)
        return value
