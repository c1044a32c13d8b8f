"""The wall around a workspace's commands: bubblewrap, seccomp, control groups, one way out.

options.py     what an administrator may say about it
opening.py     `open_bubblewrap`: makes all that is needed, takes it away again
bubblewrap.py  the launcher: puts everything below together
profile.py     what a command sees: bubblewrap's arguments
seccomp.py     which system calls it may make (numbers in syscalls.py)
network.py     what commands share (made by holder.py): /tmp, a home, a network with nothing but
               `lo`, and its door to …
egress.py      … the proxy that connects to listed hosts only
cgroups.py     how much it may use; disk.py: that it does not fill the disk
gitguard.py    that it cannot plant what git would run outside
check.py       attacks it from within (attacks.py) and says what got out, and how to mend it
"""
