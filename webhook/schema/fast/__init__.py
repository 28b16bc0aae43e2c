"""The fast check of valid, complete objects."""
