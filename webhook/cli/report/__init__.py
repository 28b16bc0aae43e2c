"""The report of a check: findings with their places, and the formats in which they are printed."""
