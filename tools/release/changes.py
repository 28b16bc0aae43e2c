"""The changes since the last release: a file for each in ``changes/``, joined into a section of CHANGELOG.md."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tools.release.project import ROOT

KINDS: Final = ("added", "changed", "removed", "fixed", "security")
"""The headings of Keep a Changelog, in the order of a section. A file is named ``<words>.<subject>.<kind>.md``."""

SUBJECTS: Final = {
    "llmkube": "LLMKube",
    "llmaz": "llmaz",
    "llmd": "llm-d",
    "ome": "OME",
    "aim": "AIM",
    "pods": "Pods in objects of any kind",
    "rules": "Rules, schemas and CEL",
    "packs": "APIs of your own",
    "gate": "The gate",
    "reconciler": "The reconciler",
    "chart": "The chart and the image",
    "command": "The command",
    "library": "The library",
    "docs": "Documentation and development",
}
"""What a change is about, and its heading below the kind, in the order of a section: the APIs, then the parts."""

WORDS: Final = 25
"""The most words of a change: it is read in a list, and a page has the details."""

_README: Final = "README.md"


def fragments(root: Path = ROOT) -> list[Path]:
    """The files of changes that no release has."""
    return sorted(path for path in (root / "changes").glob("*.md") if path.name != _README)


def kind_of(path: Path) -> str:
    """The kind that the name of a file says: ``added`` of ``doctor.command.added.md``."""
    return path.stem.rpartition(".")[2]


def subject_of(path: Path) -> str:
    """The subject that the name of a file says: ``command`` of ``doctor.command.added.md``."""
    return path.stem.rpartition(".")[0].rpartition(".")[2]


def text_of(path: Path) -> str:
    """The change as one line."""
    return " ".join(path.read_text().split())


def unclear(root: Path = ROOT) -> list[str]:
    """What is wrong with the files: a name without a kind or subject, no text, or too many words."""
    reasons = []
    for path in fragments(root):
        named = f"changes/{path.name}: name it <words>.<subject>.<kind>.md, where the"
        if kind_of(path) not in KINDS:
            reasons.append(f"{named} kind is one of {', '.join(KINDS)}")
        elif subject_of(path) not in SUBJECTS:
            reasons.append(f"{named} subject is one of {', '.join(SUBJECTS)}")
        if not 0 < (count := len(text_of(path).split())) <= WORDS:
            reasons.append(f"changes/{path.name}: {count} words; write 1 to {WORDS}")
    return reasons


def pending(root: Path = ROOT) -> list[str]:
    """Why a release cannot be built yet: its changes are not in CHANGELOG.md."""
    return [
        f"changes/{path.name}: not in CHANGELOG.md; run python -m tools.release changes" for path in fragments(root)
    ]


def section(version: str, date: str, root: Path = ROOT) -> str:
    """The section of a release. ``date`` is YYYY-MM-DD."""
    texts: dict[tuple[str, str], list[str]] = {}
    for path in fragments(root):
        texts.setdefault((kind_of(path), subject_of(path)), []).append(f"- {text_of(path)}")
    lines = [f"## {version} - {date}", ""]
    for kind in KINDS:
        subjects = [subject for subject in SUBJECTS if (kind, subject) in texts]
        if subjects:
            lines += [f"### {kind.capitalize()}", ""]
        for subject in subjects:
            lines += [f"#### {SUBJECTS[subject]}", "", *texts[kind, subject], ""]
    return "\n".join(lines)


def join(version: str, date: str, root: Path = ROOT) -> None:
    """Move all changes into CHANGELOG.md, as its first section.

    Raises:
        ValueError: a file is unclear, there is none, or CHANGELOG.md has the version already.
    """
    log = root / "CHANGELOG.md"
    head, mark, released = log.read_text().partition("\n## ")
    if reasons := unclear(root):
        raise ValueError("; ".join(reasons))
    if not fragments(root):
        raise ValueError("changes/ has no change")
    if f"{mark}{released}".startswith(f"\n## {version} ") or f"\n## {version} " in released:
        raise ValueError(f"CHANGELOG.md has a section {version} already")
    log.write_text(f"{head}\n{section(version, date, root)}{mark}{released}")
    for path in fragments(root):
        path.unlink()
