#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
sed -i '/    whole = sum/,$d' shares.py
cat >>shares.py <<'END'
    whole = sum(weights)
    if whole <= 0 or min(weights) < 0:
        raise ValueError("weights are not negative, and one is above 0")
    sign, amount = (-1, -total) if total < 0 else (1, total)
    parts = [amount * weight // whole for weight in weights]
    rest = amount - sum(parts)
    order = sorted(range(len(parts)), key=lambda at: -(amount * weights[at] % whole))
    for at in order[:rest]:
        parts[at] += 1
    return [sign * part for part in parts]
END
