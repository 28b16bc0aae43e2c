"""The `modelgate` command: one module per subcommand."""
