"""The table of what the tests of each room notice, in the threat model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.shared import ROOT

PAGE: Final = ROOT / "docs" / "threat-model.md"
HEAD: Final = (
    "| room | what it decides | mutants | tried | killed | explained | left | noticed |",
    "|---|---|---|---|---|---|---|---|",
)
MARKS: Final = ("<!-- mutants: begin -->\n", "<!-- mutants: end -->\n")


@dataclass(frozen=True)
class Figures:
    """How many mutants a room has, and of those that were ``tried``: how many are killed or explained."""

    room: str
    mutants: int
    tried: int
    killed: int
    explained: int

    @property
    def left(self) -> int:
        return self.tried - self.killed - self.explained

    @property
    def share(self) -> float:
        """Percent of those that were tried and are not left."""
        return 100 * (self.tried - self.left) / max(self.tried, 1)


def publish(figures: Figures, about: str, seed: int) -> None:
    """Write the row of a room between the marks of the page; the rows of other rooms stay as they are."""
    before, rest = PAGE.read_text().split(MARKS[0])
    table, after = rest.split(MARKS[1])
    rows = {line.split(" | ")[0]: line for line in table.splitlines() if line.startswith("| `")}
    sample = f" (seed {seed})" if figures.tried < figures.mutants else ""
    rows[f"| `{figures.room}`"] = (
        f"| `{figures.room}` | {about} | {figures.mutants} | {figures.tried}{sample} | {figures.killed} "
        f"| {figures.explained} | {figures.left} | {figures.share:.1f} % |"
    )
    PAGE.write_text(before + MARKS[0] + "\n" + "\n".join([*HEAD, *rows.values()]) + "\n\n" + MARKS[1] + after)
