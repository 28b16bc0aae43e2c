"""Pages that are made from the charts."""
