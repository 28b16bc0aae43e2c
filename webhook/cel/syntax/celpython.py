"""The installed cel-python: its grammar file and its version, found without importing it.

``import celpy`` takes a third of a second, too long for every start of the gate. Its grammar
is data, and Lark reads it from the package's folder.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from webhook.cel.errors import GrammarUnavailable

REQUIREMENT: Final = "cel-python>=0.5,<0.6"

GRAMMAR_HASH: Final = "80b735504fcdf8e98d7e8d16ed4f90b74d29064e6aca668bc2de5a297a50b00f"
"""SHA-256 of the ``cel.lark`` that ``kubernetes.lark`` extends: that of cel-python 0.5.0. Another file may define a
different language. It is refused until the overlay has been compared with it."""


@cache
def folder() -> Path:
    """The package's folder.

    Raises:
        GrammarUnavailable: cel-python is not installed.
    """
    spec = find_spec("celpy")
    if spec is None or spec.origin is None:
        raise GrammarUnavailable(f"cel-python is not installed: run pip install '{REQUIREMENT}'")
    return Path(spec.origin).parent


@cache
def version() -> str:
    """The version, from the name of the metadata folder: ``importlib.metadata`` takes 15 ms to import."""
    found = next(folder().parent.glob("cel_python-*.dist-info"), None)
    return "of unknown version" if found is None else found.stem.removeprefix("cel_python-")


def grammar_hash() -> str:
    """SHA-256 of cel-python's grammar.

    Raises:
        GrammarUnavailable: cel-python has no ``cel.lark``.
    """
    path = folder() / "cel.lark"
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise GrammarUnavailable(f"cannot read cel-python's grammar: {error}") from None


def require() -> None:
    """Check that the installed cel-python has the grammar that the overlay extends.

    Raises:
        GrammarUnavailable: it is not installed, or has another grammar.
    """
    if grammar_hash() != GRAMMAR_HASH:
        raise GrammarUnavailable(
            f"cel-python {version()} has a different grammar (cel.lark): install a version in {REQUIREMENT} that has "
            f"the grammar of 0.5.0"
        )
