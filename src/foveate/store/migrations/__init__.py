"""What Alembic needs to bring a store to the schema of this version."""
