"""Commands about the command itself: its version, and its completion in shells."""
