"""Enforcement by degrees: how strict each rule is for each object, by policies that only administrators write.

    policies = [PolicyObject.read(obj) for obj in objects]
    degrees = Degrees.of(policies, namespaces, now)
    degrees.place(api, kind, namespace, name).policy(code)

It is pure: the time is an argument, and what is in force at another time is another value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.enforcement.names import ENFORCEMENT, EXCEPTION, GROUP, VERSION
from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.enforcement.codes import similar
    from webhook.enforcement.degrees import LABEL, Degrees, ObjectPlace
    from webhook.enforcement.memory import PolicyMemory
    from webhook.enforcement.policy import Degree, PolicyObject
    from webhook.enforcement.remarks import Oddity, Vocabulary, contradictions, remarks_on

__all__ = [
    "ENFORCEMENT",
    "EXCEPTION",
    "GROUP",
    "LABEL",
    "VERSION",
    "Degree",
    "Degrees",
    "ObjectPlace",
    "Oddity",
    "PolicyMemory",
    "PolicyObject",
    "Vocabulary",
    "contradictions",
    "remarks_on",
    "similar",
]

_MODULES: Final = {
    "similar": "codes",
    **dict.fromkeys(("LABEL", "Degrees", "ObjectPlace"), "degrees"),
    "PolicyMemory": "memory",
    **dict.fromkeys(("Degree", "PolicyObject"), "policy"),
    **dict.fromkeys(("Oddity", "Vocabulary", "contradictions", "remarks_on"), "remarks"),
}
"""The module of each name, which is loaded when the name is first used: most files and clusters have no such object."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _MODULES)
