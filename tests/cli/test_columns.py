"""Tables fit the terminal, lose no word, and stay one line a row in a file."""

import io

import pytest

from webhook.cli.terminal import aligned, terminal_width

ROWS = [
    ("field", "value", "from"),
    ("spec.hardware.gpu.resourceName", '"nvidia.com/gpu"', "derived from vendor and runtime (LK102)"),
    ("spec.source", '"https://huggingface.co/org/repository/resolve/main/model.gguf"', "model.yaml:5:3"),
]


def test_a_row_is_one_line_where_there_is_no_terminal():
    assert len(list(aligned(ROWS))) == len(ROWS)
    assert terminal_width(io.StringIO()) is None


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_lines_fit_and_have_every_word(width):
    lines = list(aligned(ROWS, width))
    assert max(map(len, lines)) <= width
    for row in ROWS:
        for word in " ".join(row).split():
            assert word in "".join(lines) or len(word) > width // 4


def test_a_column_keeps_its_place_and_gets_its_colour():
    lines = list(aligned([("a", "b c d e f g h i j k l m n"), ("x", "y")], 16, (3,)))
    assert lines[0].startswith("a    b c d")
    assert lines[1].startswith("     ")
    painted = aligned([("a", "b")], None, (), lambda number, _row, cell: f"<{cell}>" if number else cell)
    assert list(painted) == ["a  <b>"]


def test_a_terminal_too_narrow_for_any_column_is_not_a_loop():
    assert list(aligned(ROWS, 5))
