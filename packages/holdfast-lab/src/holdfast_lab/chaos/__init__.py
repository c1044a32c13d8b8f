"""Attacks on our own promises, shipped with the product: `holdfast lab prove`.

`stage` is what they are played on (real processes, a private PostgreSQL, a simulator); `turns`,
`streams`, `commits`, `hands`, `walls`, `limits`, `borders` and `models` are the attacks; `mutants`
are the protections that can be taken away, so that it is seen that an attack would notice.
"""
