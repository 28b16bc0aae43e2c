"""Programs that make files of the checkout."""
