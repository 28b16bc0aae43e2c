"""Fixtures of several modules of this folder."""

from pathlib import Path

import pytest

from tests.tools.world import World, made_world


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> World:
    return made_world(tmp_path, capsys)
