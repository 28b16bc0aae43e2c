"""Names of a package that are loaded when they are first used (PEP 562). Each is written twice::

if TYPE_CHECKING:
    from webhook.a.b import f

if not TYPE_CHECKING:  # a type checker reads the imports, and knows no other names
    __getattr__ = later(__name__, {"b": "f"})
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def later(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package.

    Args:
        package: its name.
        names: module below the package → the names that it has, with spaces between; "" → names that are modules.
    """
    modules = {name: module for module, listed in names.items() for name in listed.split()}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        loaded = import_module(f"{package}.{module or name}")
        value = getattr(loaded, name) if module else loaded
        setattr(sys.modules[package], name, value)
        return value

    return get
