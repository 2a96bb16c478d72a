"""Knowledge: what earlier tasks learned, found again for the next one without asking a model."""
