"""The driving half of a server: holds one lease, acquires chats under it, runs a driver for each.

worker          one lease after another, until drained
heartbeat       keeps the lease alive, where nothing can starve it
acquirer        when to ask for chats, and for how many
local_dispatch  before the ledger, where one process serves and drives: a commit acquires its chat
slots           room that the worker offers to such commits
idle_cache      chats at rest, so that the next message to one needs no load
runners         one task per driven chat; releases what ends still ours
quarantine      chats that keep losing their workers are driven by processes of their own
reconcile       finds what the hints lost; sweeps up deadlines and the dead
"""
