"""The vendored tables are as the command that writes them would write them."""

import gzip

import pytest

from tests.conformance.tables import all_tables, dumped, name_of, packed, read
from tests.oracle.questions import NOT_ASKED, QUESTIONS

HEADER = 10  # bytes: magic, method, flags, mtime, level, system
KUBERNETES = [path for path in all_tables() if path.parent.name == "tables"]


@pytest.mark.parametrize("path", all_tables(), ids=name_of)
def test_a_table_is_written_as_it_is_read(path):
    assert gzip.decompress(path.read_bytes()) == dumped(read(path))


@pytest.mark.parametrize("path", all_tables(), ids=name_of)
def test_the_header_of_a_table_has_neither_time_nor_name(path):
    assert path.read_bytes()[:HEADER] == packed(b"")[:HEADER]


@pytest.mark.parametrize("path", KUBERNETES, ids=name_of)
def test_every_operation_can_be_asked_anew_or_has_a_reason_why_not(path):
    assert {case["op"] for case in read(path)["cases"]} <= QUESTIONS.keys() | NOT_ASKED.keys()


@pytest.mark.parametrize("path", KUBERNETES, ids=name_of)
def test_a_table_counts_its_cases_and_explains_their_operations(path):
    document = read(path)
    assert document["count"] == len(document["cases"])
    assert {case["op"] for case in document["cases"]} <= document["ops"].keys()
