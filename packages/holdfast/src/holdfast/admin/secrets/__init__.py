"""Secrets at rest.

master key (a file or a command) ──wraps──▶ data key (one per organisation) ──seals──▶ secrets

sealing     AES-256-GCM; the only module that knows `cryptography`
vault       seals and opens secrets, with the data keys that this process has unwrapped
rotation    new keys for everything, while servers run; and what can be read
"""
