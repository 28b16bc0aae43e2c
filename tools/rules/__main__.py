"""``python -m tools.rules``: generate the tables of all pages about rules, and the page about releases."""

from tools.rules import releases
from tools.rules.pages import made_pages
from webhook import catalog

loaded = catalog.load()
for page, text in made_pages(loaded):
    page.write_text(text)
releases.PAGE.write_text(releases.made_page(loaded))
