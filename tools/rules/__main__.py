"""``python -m tools.rules [API …]``: generate the tables of all pages about rules, and the page about releases.

With APIs: the pages of these only.
"""

import sys

from tools.rules import releases
from tools.rules.pages import made_pages
from webhook import catalog

loaded = catalog.load()
for page, text in made_pages(loaded, sys.argv[1:]):
    page.write_text(text)
if not sys.argv[1:]:
    releases.PAGE.write_text(releases.made_page(loaded))
