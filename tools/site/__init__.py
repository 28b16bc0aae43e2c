"""The site: the pages of ``docs/``, a page for each rule, and the reference of the command line, as static files."""
