"""The driving half of a server: holds one lease, acquires chats under it, runs a driver for each.

worker       one lease after another, until drained
heartbeat    keeps the lease alive, where nothing can starve it
acquirer     when to ask for chats, and for how many
runners      one task per driven chat; releases what ends still ours
quarantine   chats that keep losing their workers are driven by processes of their own
sync         finds what the hints lost; sweeps up deadlines and the dead
"""
