"""HTTP: connections, handshakes, bodies and replies, with limits; answers counted."""
