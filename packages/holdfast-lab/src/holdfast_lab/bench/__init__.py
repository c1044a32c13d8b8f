"""`holdfast lab bench`: many watched chats against the simulator, checked word by word, beside the
bare engines.

`load` says what is asked and what must come back, `checks` judges what came, `wire` is a client as
cheap as Python allows, `running` drives it. `cell` starts what is measured, `watch` reads what it
costs, `baselines` runs the bare engines, `figures` and `page` tell.
"""
