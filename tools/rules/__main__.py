"""``python -m tools.rules``: generate the tables of all pages."""

from tools.rules.pages import made_pages
from webhook.engine import catalog

for page, text in made_pages(catalog.load()):
    page.write_text(text)
