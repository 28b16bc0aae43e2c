"""An expression of a policy, compiled, and what it reads."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.cel import Program


@dataclass(frozen=True, slots=True)
class Expression:
    """A program, and what it reads.

    ``variables`` are the policy's variables that it needs, directly or through others, in the order of computation.
    ``facts`` are those that it needs directly or through variables, ``named_facts`` those in its own text.
    ``local``: it reads only ``self`` and ``oldSelf``.
    """

    program: Program
    variables: tuple[str, ...]
    facts: frozenset[str]
    named_facts: tuple[str, ...]
    local: bool

    @property
    def source(self) -> str:
        return self.program.source
