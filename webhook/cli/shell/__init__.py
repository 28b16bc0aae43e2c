"""The command itself: its parser, how a command runs, its version, and its completion in shells."""
