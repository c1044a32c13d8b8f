"""A provider to test against: a real HTTP server that speaks four wires and misbehaves on request.

    request -> wires/*_rules.py (say no as the real API does) -> asked.py (one reading of it)
            -> plan.py (script, directive, scenario or agent) -> reply.py (what will be said)
            -> wires/*.py (as events) -> inject.py (spoilt by a fault) -> deliver.py (as bytes)
            -> record.py (what was asked, sent and billed)

It imports nothing else of the project, so that it can be no accomplice of the code it tests.
"""
