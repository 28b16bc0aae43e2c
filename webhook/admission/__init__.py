"""The wire of admission: requests, reviews, decisions, patches, stamps and the exception tree."""
