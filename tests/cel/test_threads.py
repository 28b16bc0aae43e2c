from tests.bench.cel_threads import SOURCES, cases, hammer


def test_a_program_does_in_eight_threads_what_it_does_alone():
    assert hammer(8_000) == []


def test_the_cases_succeed_and_fail():
    outcomes = {(case.program.source, case.alone[0]) for case in cases()}
    assert {source for source, kind in outcomes if kind == "value"} == set(SOURCES)
    assert len({source for source, kind in outcomes if kind == "error"}) >= 4
