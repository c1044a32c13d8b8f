"""PostgreSQL: where everything acknowledged is kept.

`queries/*.sql` holds every statement under a name, `migrations/` the schema, `codec` the one border
that text crosses, `rows` the way between rows and the domain.
"""
