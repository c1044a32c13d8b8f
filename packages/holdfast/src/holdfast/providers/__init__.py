"""The model layer: prompts out, parts in, over four wires.

    Call ──▶ wires/*.py (pure: build) ──────────▶ transport.py (aiohttp) ──▶ provider
    Event ◀── wires/*.py (pure: decode) ◀── sse.py ◀── stream.py (deadlines) ◀──┘

`types.py` has the words, `history.py` the rules that hold on every wire, `errors.py` the one
classification of what can go wrong. A vendor is a row in `endpoints.py`; a wire is a file.
"""
