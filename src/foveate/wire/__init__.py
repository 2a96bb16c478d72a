"""Provider formats: bytes in, bytes out, no policy."""
