"""The server: HTTP, TLS, life cycle, limits and metrics around the engine."""
