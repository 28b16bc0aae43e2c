"""What is covered: fields of the API documents, rules of the specifications, samples; made into docs/coverage.md."""
