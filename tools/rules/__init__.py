"""Pages about rules: the tables of ``docs/rules/<api>.md``, made of the policies."""
