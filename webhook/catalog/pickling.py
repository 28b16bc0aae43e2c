"""Compiled policies as bytes: a pickle with code objects, and with functions that no module has by name.

A generated function and a lambda are stored by code and what they close over. A function of a library is stored by its
name, or by ``__reduced__``: a call that makes it. The bytes are for the same Python and the same code of Modelgate only
(:mod:`webhook.catalog.kept`). They are as powerful as a module: read them only from where a module might be loaded.
"""

from __future__ import annotations

import io
import marshal
import pickle
import sys
from collections.abc import Mapping
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from webhook.cel import GLOBALS
from webhook.cel.types import Type

if TYPE_CHECKING:
    from typing_extensions import Buffer

_GENERATED: Final = "<generated>"
"""Stands for the globals of generated functions."""


def dumped(value: Any, shared: Mapping[str, Any]) -> bytes:
    """The value as bytes; the objects of ``shared`` are stored as their names.

    Raises:
        pickle.PicklingError, TypeError, AttributeError, ValueError: a part cannot be stored.
    """
    buffer = io.BytesIO()
    _Pickler(buffer, shared).dump(value)
    return buffer.getvalue()


def loaded(content: Buffer, shared: Mapping[str, Any]) -> Any:
    """The value of :func:`dumped`."""
    return _Unpickler(io.BytesIO(content), shared).load()


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, shared: Mapping[str, Any]) -> None:
        super().__init__(buffer, protocol=5)
        self._names = {id(each): name for name, each in shared.items()}

    def persistent_id(self, obj: Any) -> str | None:
        return self._names.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType):
            return _function_parts(obj)
        if isinstance(obj, CodeType):
            return marshal.loads, (marshal.dumps(obj),)
        if isinstance(obj, MappingProxyType):
            return _read_only, (dict(obj),)
        if isinstance(obj, Type) and obj.fields is not None:  # equality ignores them, and only a check reads them
            return Type, (obj.kind, obj.params, obj.name, None, obj.nullable)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, shared: Mapping[str, Any]) -> None:
        super().__init__(buffer)
        self._shared = shared

    def persistent_load(self, name: str) -> Any:
        return self._shared[name]


def _read_only(items: dict[Any, Any]) -> Mapping[Any, Any]:
    """The type itself has no name by which a pickle could find it."""
    return MappingProxyType(items)


def _function_parts(function: FunctionType) -> Any:
    if (reduced := getattr(function, "__reduced__", None)) is not None:
        return reduced
    if "<" not in function.__qualname__ and function.__globals__ is not GLOBALS:  # neither a lambda nor of a function
        return NotImplemented
    code, cells = function.__code__, function.__closure__ or ()
    made = _function, (code, _place(function), function.__name__, function.__defaults__, function.__kwdefaults__)
    return *made, tuple(cell.cell_contents for cell in cells), None, None, _close


def _place(function: FunctionType) -> str:
    """The module whose globals the function has."""
    if function.__globals__ is GLOBALS:
        return _GENERATED
    if vars(sys.modules[function.__module__]) is not function.__globals__:
        raise pickle.PicklingError(f"{function.__qualname__} has globals of its own")
    return function.__module__


def _function(code: CodeType, place: str, name: str, defaults: Any, keywords: Any) -> FunctionType:
    if place == _GENERATED:
        scope = GLOBALS
    else:
        __import__(place)
        scope = vars(sys.modules[place])
    function = FunctionType(code, scope, name, defaults, tuple(CellType() for _ in code.co_freevars))
    function.__kwdefaults__ = keywords
    return function


def _close(function: FunctionType, values: tuple[Any, ...]) -> None:
    """Fill the cells, which may hold the function itself."""
    for cell, value in zip(function.__closure__ or (), values, strict=True):
        cell.cell_contents = value
