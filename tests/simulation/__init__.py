"""Several replicas in virtual time: everything that goes wrong is chosen by a seed."""
