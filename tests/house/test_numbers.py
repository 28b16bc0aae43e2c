"""The house keeps what it has reached: no measure is above its number, and no number is higher than it has to be."""

from __future__ import annotations

import pytest

from tests.house import floors, numbers
from tests.house.measures import MEASURES, Measure
from tests.house.tree import House
from tests.test_faces import ROOT

measures = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
ALLOWED = numbers.read()


@pytest.fixture(scope="module")
def house() -> House:
    return House(ROOT)


@measures
def test_no_room_has_more_than_its_number(house: House, measure: Measure) -> None:
    assert [*numbers.too_high(measure, house, ALLOWED)] == []


@measures
def test_no_number_is_higher_than_it_has_to_be(house: House, measure: Measure) -> None:
    assert [*numbers.stale(measure, house, ALLOWED)] == []


def test_every_measure_has_numbers_and_no_other_has() -> None:
    assert ALLOWED.keys() == {measure.name for measure in MEASURES}


@pytest.mark.parametrize("name", ["arrows_up", "circles"])
def test_no_arrow_goes_up_and_no_circle_is_allowed(name: str) -> None:
    assert ALLOWED[name] == {}


def test_the_floors_of_the_page_are_those_of_the_contracts(house: House) -> None:
    assert floors.of_page(house) == floors.contracts(house)


def test_the_page_names_every_package_and_folder_of_data(house: House) -> None:
    page = house.text(floors.PAGE)
    for folder in ("modelgate", "certs", "reconciler", "policies", "packs"):
        assert f"`{folder}`" in page
