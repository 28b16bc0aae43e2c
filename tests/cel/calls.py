"""Call the functions of the CEL libraries by name, as an expression with ``dyn`` arguments would."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.cel.errors import CelError
from webhook.cel.library.registry import overloads
from webhook.cel.overload import dispatcher
from webhook.cel.versions import LATEST

FUNCTIONS = overloads(LATEST)


def call(function: str, *args: Any) -> Any:
    return dispatcher(FUNCTIONS[function])(*args)


def error(function: str, *args: Any) -> str:
    """The message of the error that the call ends with."""
    with pytest.raises(CelError) as failure:
        call(function, *args)
    return failure.value.message
