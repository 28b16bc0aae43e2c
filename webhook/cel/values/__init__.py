"""The values of CEL at run time."""
