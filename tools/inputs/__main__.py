"""Write ``webhook/facts/inputs.json``."""

from pathlib import Path

from tools.inputs.recorded import made_text
from webhook import catalog

(Path(__file__).parents[2] / "webhook" / "facts" / "inputs.json").write_text(made_text(catalog.load()))
