"""What other packages import from ``webhook.cel``, and what that loads."""

import subprocess
import sys

import pytest

from webhook import cel


def test_other_names_are_not():
    with pytest.raises(AttributeError, match=r"module 'webhook\.cel' has no attribute 'parse'"):
        _ = cel.parse


@pytest.mark.parametrize(
    ("statement", "unloaded"),
    [
        ("from webhook.cel import CelError", "webhook.cel.types"),
        ("from webhook.cel import types", "webhook.cel.environment"),
        ("from webhook.cel import Environment", "webhook.cel.codegen"),
    ],
)
def test_a_name_loads_no_more_than_it_needs(statement, unloaded):
    code = f"import sys; {statement}; sys.exit({unloaded!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
