"""Enforcement by degrees: how strict each rule is for each object, by policies that only administrators write.

    policies = [PolicyObject.read(obj) for obj in objects]
    degrees = Degrees.of(policies, namespaces, now)
    degrees.place(api, kind, namespace, name).policy(code)

It is pure: the time is an argument, and what is in force at another time is another value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.enforcement.names import ENFORCEMENT, EXCEPTION, GROUP, VERSION
from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.enforcement.codes import similar
    from webhook.enforcement.degrees import Degrees, ObjectPlace
    from webhook.enforcement.memory import PolicyMemory
    from webhook.enforcement.policy import Degree, PolicyObject
    from webhook.enforcement.remarks import Vocabulary, contradictions, remarks_on

if not TYPE_CHECKING:  # most files and clusters have no such object
    __getattr__ = later(__name__)
