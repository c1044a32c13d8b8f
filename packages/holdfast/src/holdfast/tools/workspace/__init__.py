"""The tools of a chat's workspace: processes, files, skills, and the workspace itself.

toolbox.py    which tools there are; a turn's toolbox; what may be stopped
binding.py    the workspace of a turn: resolved once, repaired once
offer.py      what makes a tool: arguments with their descriptions, help text, effect
execute.py    a command, started once for all callers, watched while it runs
processes.py  what goes on after its call
files.py      read, list, find, search
file_texts.py what these return, below the limit of a result
places.py     create, start and stop the workspace; read a skill
awareness.py  what the model is told of the workspace before it asks
shell.py      whether a command puts itself into the background
texts.py      results as a model reads them
"""
