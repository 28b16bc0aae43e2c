"""The pictures of the documentation, drawn by D2 from texts in ``docs/pictures``."""
