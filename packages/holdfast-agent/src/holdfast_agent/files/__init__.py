"""The files of a workspace, as the agent serves them: read, write, edit, list, find, search.

`kernel` has the two system calls that everything stands on, `beneath` opens paths with them so that
none leads out, `paths` says how a path is read and shown. `reading`, `writing`, `editing` (with
`matching` and `diffs`), `listing` and `looking` do what is asked, `guidance` finds what a workspace
says to the model; `http` puts all of it behind routes. Finding and searching run in a process of
their own, `look`, which `walking`, `ignoring` and `engines` serve.
"""
