"""The one door to a chat (`ledger`), and what people may ask of it, a file per kind of wish."""
