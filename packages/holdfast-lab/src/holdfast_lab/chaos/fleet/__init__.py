"""What happens to a whole fleet: the primary changes, the schema is migrated, rows cannot be read,
the database refuses statements, strangers send heads without an end."""
