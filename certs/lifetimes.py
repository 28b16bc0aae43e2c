"""How long certificates live, and the waits that follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

# The clock of an API server may be behind ours; client-go backdates the certificates it signs itself by the same hour.
BACKDATED = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The lifetimes in use. Tests shorten them; the proportions stay.

    Attributes:
        ca: a year. A new CA is made with a third of it left: four months to repair what blocks a rotation.
        leaf: a week. A stolen key is soon useless, and a cluster that was off for a long weekend still starts.
        uptake: from the moment a CA has been read back in every webhook configuration until it signs. API servers
            watch the configurations and normally see a change within a second; a busy one may need several.
    """

    ca: timedelta = timedelta(days=365)
    leaf: timedelta = timedelta(days=7)
    uptake: timedelta = timedelta(seconds=30)

    @property
    def ca_renewed_before(self) -> timedelta:
        return self.ca / 3

    @property
    def leaf_renewed_before(self) -> timedelta:
        """A third, as the kubelet and cert-manager renew theirs: two days to notice and repair what blocks it."""
        return self.leaf / 3

    @property
    def retired(self) -> timedelta:
        """How long a CA stays trusted after it signed: the life of a leaf, and a seventh for clocks that differ."""
        return self.leaf + self.leaf / 7
