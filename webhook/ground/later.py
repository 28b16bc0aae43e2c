"""Names of a package that are loaded when they are first used (PEP 562). Each is written once::

if TYPE_CHECKING:
    from webhook.a.b import f

if not TYPE_CHECKING:  # a type checker reads the imports above, and knows no other names
    __getattr__ = later(__name__)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

_IMPORT: Final = re.compile(r"^    from (\S+) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)
"""An import that is indented, as below ``if TYPE_CHECKING``: the module, and its names on several lines or on one."""


def later(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: it finds names in the imports that the package writes for type checkers.

    The text of the package is read when the first name is asked for, which takes 0.1 ms.
    """

    @cache
    def modules() -> Mapping[str, str]:
        text: str = sys.modules[package].__loader__.get_source(package)  # type: ignore[union-attr]
        imports = _IMPORT.findall(text)
        return {name: module for module, *names in imports for name in re.findall(r"\w+", "".join(names))}

    def get(name: str) -> Any:
        module = modules().get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        loaded = import_module(f"{package}.{name}" if module == package else module)
        value = loaded if module == package else getattr(loaded, name)
        setattr(sys.modules[package], name, value)
        return value

    return get
