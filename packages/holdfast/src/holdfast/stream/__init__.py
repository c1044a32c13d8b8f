"""The watching half of a server: what readers of a chat are told, once each and in order.

    hub         every reader of this process; the safety poll; opens and closes feeds
    poll_reads  the reads that the safety poll starts: one per chat, bounded
    feed        one watched chat: subscribe, read, tail; hints and parts become log entries
    chat_reads  what readers need of one chat, from the store and the live log
    log         what was told of a chat lately: one, bounded, shared by all its readers
    follower    one reader: a position in the log, and what it knows already
    bundle      a commit, or many, or a snapshot, as events in order
    cursor      where a reader is, as text
    events      one event as bytes on the wire
    watching    all who watch their list of chats; its safety poll
    watcher     one of them: a snapshot, then what changed since a mark
    view        the pure reducer from events to what a person sees

Meets the driving half only in the database and on the bus, so that what works on one replica works
on fifty.
"""
