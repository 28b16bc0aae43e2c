"""How many examples a property is tried with: as many as it says, or fewer where a contributor waits (make check)."""

from hypothesis import settings

QUICK = "quick"
_SHARE = 20  # 2,000 examples become 100
_LEAST = 10


def is_quick() -> bool:
    return settings.get_current_profile_name() == QUICK


def examples(count: int) -> int:
    """``max_examples`` of a property; a twentieth under ``--hypothesis-profile=quick``."""
    return max(_LEAST, count // _SHARE) if is_quick() else count
