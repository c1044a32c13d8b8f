#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >check.sh <<'END'
#!/bin/sh
# The count and the checksum of the first line, the fields and the order.
exec python3 - routes.tbl <<'PY'
import sys
import zlib

first, *lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
assert lines.pop() == "", "the file ends with a line break"
routes = [line for line in lines if not line.startswith(";")]
mark, count, checksum = first.split("\t")
assert mark == "#routes" and int(count) == len(routes), f"{count} is not {len(routes)}"
assert all(len(route.split("\t")) == 3 for route in routes), "a route has three fields"
names = [route.split("\t")[0].encode() for route in routes]
assert names == sorted(names), "the routes are not in order"
body = "".join(line + "\n" for line in lines).encode()
assert checksum == f"{zlib.crc32(body):08x}", f"the checksum of the lines below the first is {zlib.crc32(body):08x}"
print("ok")
PY
END
chmod +x check.sh
cat >.make.py <<'END'
import zlib

words = ["anchor", "beacon", "current", "dock", "ebb", "fjord", "gale", "harbour", "inlet", "jetty"]
routes = sorted({f"{a}-{b}{n}" for a in words for b in words for n in range(50)}, key=str.encode)[:4600]
lines = []
for n, name in enumerate(routes):
    if n % 13 == 5:
        lines.append(f"; {name} was measured in year {1990 + n % 30}")
    lines.append(f"{name}\tpier-{n % 8}\t{n % 5 * 10}")
body = "".join(line + "\n" for line in lines).encode()
with open("routes.tbl", "wb") as file:
    file.write(f"#routes\t{len(routes)}\t{zlib.crc32(body):08x}\n".encode() + body)
END
python3 .make.py
rm .make.py
