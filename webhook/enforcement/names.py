"""The names of the kinds."""

from __future__ import annotations

from typing import Final

GROUP: Final = "modelgate.dev"
VERSION: Final = "v1alpha1"
ENFORCEMENT: Final = "Enforcement"
EXCEPTION: Final = "PolicyException"
