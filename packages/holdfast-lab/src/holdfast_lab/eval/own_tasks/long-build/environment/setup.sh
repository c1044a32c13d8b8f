#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >build.sh <<'END'
#!/bin/sh
# Prints what a noisy build prints.
exec python3 - <<'PY'
import hashlib
import sys

broken = int(hashlib.sha256(b"reef").hexdigest(), 16) % 9000 + 6000
for n in range(20000):
    unit = f"src/part{n % 97:02}/unit{n:05}.c"
    print(f"[{n:5}/20000] CC {unit} -O2 -Wall -Iinclude -Ivendor/include -DNDEBUG -o build/unit{n:05}.o")
    if n % 400 == 7:
        print(f"{unit}:{n % 120 + 1}: warning: unused variable 'error_count'")
    if n == broken:
        print(f"{unit}:{n % 211 + 1}: error: expected ';' before '}}' token")
print("build failed: 1 error, 50 warnings")
sys.exit(1)
PY
END
