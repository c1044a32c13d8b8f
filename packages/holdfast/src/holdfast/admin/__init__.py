"""Settings that admins change while the server runs.

    settings    the declarations: one per setting
    registry    what a declaration gives: decoding, request, response, audit detail, reference
    current     every process's copy of what is set: told by hints, checked by polls
    changes     read and change the settings of an organisation

Settings of a process, read once from its environment, are in `holdfast.settings`.
"""
