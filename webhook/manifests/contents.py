"""Files that are not on the disk, such as those of a commit of Git."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Contents"]


@dataclass(frozen=True, slots=True)
class Contents:
    """``files`` are names and contents; ``name`` is that of the folder, or of the file."""

    name: str
    files: tuple[tuple[str, bytes], ...]

    def __str__(self) -> str:
        return self.name
