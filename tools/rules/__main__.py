"""``python -m tools.rules``: bring the tables of all pages up to date."""

from tools.rules.pages import made_pages

for page, text in made_pages():
    page.write_text(text)
