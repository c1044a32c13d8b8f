"""Who is there, and what they may: accounts, sign-ins, API keys, login through OIDC, the audit log.

    browser ── cookie ──┐                         ┌─ accounts   people, passwords, roles
                        ├─ gate ── Principal ──▶  ├─ sign_in    browsers
    program ── key ─────┘                         ├─ keys       programs
                                                  ├─ oidc       people whom others vouch for
                                                  └─ audit      what was done, chained

What a principal may is decided by the table in `domain/policy.py`, here and in SQL alike. Every
verb takes the principal first; whatever is not allowed raises `NotAllowed` before anything is
looked up, or answers like what does not exist.
"""
