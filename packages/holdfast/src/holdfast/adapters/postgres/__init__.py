"""PostgreSQL: where everything acknowledged is kept.

`queries/*.sql` holds every statement under a name, `riders/` what other tables get with a commit,
`migrations/` the schema, `codec` the one border that text crosses, `rows` the way between rows and
the domain.
"""
