"""docs/crds.md says how our definitions differ from upstream's, and on which samples it shows."""

from tests.crdpage import PAGE, made_page
from tests.shared import shared


def test_the_page_of_differences_is_up_to_date():
    shared("upstream-crds")
    shared("samples")
    assert PAGE.read_text() == made_page(), "run python -m tests.crdpage"
