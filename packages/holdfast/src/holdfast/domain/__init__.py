"""What a chat is and how it may change: pure, standard library only.

Read in this order: `chat` (the facts), `commands` (what may be asked), `transitions` (what is
lawful), `decide` (what follows), `next_step` (what a worker does next).
"""
