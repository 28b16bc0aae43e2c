"""``python -m tools.rules``: bring the tables of all pages up to date."""

from tools.rules.pages import made_pages
from webhook.engine import catalog

for page, text in made_pages(catalog.load()):
    page.write_text(text)
