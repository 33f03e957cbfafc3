#!/usr/bin/env bash
# README.md must quote examples/roundtrip.c word for word, in a code block between these two lines:
#   <!-- begin examples/roundtrip.c -->
#   <!-- end examples/roundtrip.c -->
set -euo pipefail
cd "$(dirname "$0")/.."
quoted=$(awk '/^<!-- begin examples\/roundtrip.c -->$/ { on = 1; next }
              /^<!-- end examples\/roundtrip.c -->$/ { on = 0 }
              on && !/^```/' README.md)
if [ -z "$quoted" ]; then
    echo "README.md: no code between the lines <!-- begin examples/roundtrip.c --> and <!-- end ... -->"
    exit 1
fi
diff -u --label README.md <(echo "$quoted") examples/roundtrip.c
