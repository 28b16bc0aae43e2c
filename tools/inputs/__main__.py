"""Write ``webhook/facts/inputs.json``, of all kinds or of those of some APIs: ``python -m tools.inputs llmkube``."""

import sys
from pathlib import Path

from tools.inputs.recorded import made_text
from webhook import catalog

FILE = Path(__file__).parents[2] / "webhook" / "facts" / "inputs.json"

FILE.write_text(made_text(catalog.load(), sys.argv[1:] or [*catalog.built_in()], FILE.read_text()))
