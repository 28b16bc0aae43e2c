"""Names of a package that are loaded when they are first used (PEP 562).

if not TYPE_CHECKING:  # a type checker reads the imports, and knows no other names
__getattr__ = later(__name__, _MODULES)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["later"]


def later(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package.

    Args:
        package: its name.
        modules: name → the module below the package that has it; "" for a name that is a module itself.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        found = import_module(f"{package}.{module or name}")
        value = getattr(found, name) if module else found
        setattr(sys.modules[package], name, value)
        return value

    return get
