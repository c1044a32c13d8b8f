"""The watching half of a server: what readers of a chat are told, once each and in order.

    hub         every reader of this process; the safety poll; opens and closes feeds
    poll_reads  the reads that the safety poll starts: one per chat, bounded
    feed        one watched chat: subscribe, read, tail; hints and parts become log entries
    progress    how far a feed has delivered its chat
    reorder     news that arrived at a feed before the news that it follows
    catch_up    brings a feed to what the store and the live log hold
    retry       when a feed may try a failed read again
    opening     the first read of a feed, for which its readers wait
    chat_reads  what readers need of one chat, from the store and the live log
    snapshot_cache  what readers that enter a chat at the same time share
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
