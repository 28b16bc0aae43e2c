"""What every package stands on: names that load when they are first used, and room for the frames of a thread."""
