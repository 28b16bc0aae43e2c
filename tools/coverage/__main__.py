"""``python -m tools.coverage``: generate docs/coverage.md, docs/samples.md and docs/crds.md.

The latter two and the counts of the API documents need the material in ``../shared`` (or ``MODELGATE_SHARED``); without
it they are not changed.
"""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from tools.coverage import definitions, page, samples
from webhook import catalog

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("MODELGATE_SHARED", ROOT.parent / "shared"))

loaded = catalog.load()
if (SHARED / "seeds").is_dir():
    page.SEEDS.write_text(yaml.safe_dump(page.counted_seeds(SHARED / "seeds", loaded), default_flow_style=None))
if (SHARED / "samples").is_dir():
    (ROOT / "docs" / "samples.md").write_text(samples.made_page(SHARED / "samples", loaded))
if (SHARED / "upstream-crds").is_dir():
    (ROOT / "docs" / "crds.md").write_text(definitions.made_page(SHARED / "upstream-crds", SHARED / "samples"))
(ROOT / "docs" / "coverage.md").write_text(page.made_page(loaded))
