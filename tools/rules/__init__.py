"""Pages about rules: the tables of ``docs/rules/<api>.md``, generated from the policies."""
