#!/bin/bash
# usage.sh - tests of the command: help, wrong options, terminals.
. "$(dirname "$0")/common.sh"
make_odd
make_text
"$fp" -q -o p.fpc <(echo hi)

# ------------------------------------------------------------ usage
exits 0 "--help" "$fp" --help
check "--help goes to stdout" grep -q usage out
exits 0 "-h" "$fp" -h
exits 0 "--version" "$fp" --version
check "--version" grep -Eqx 'fastpair [0-9]+\.[0-9]+\.[0-9]+' out
exits 0 "-V" "$fp" -V
# With a GPU the bytes come back through it; without one the command says so.
if "$fp" -d --backend=gpu -c a.txt.fpc >out 2>err; then
    check "-d --backend=gpu" cmp -s out a.txt
    exits 0 "-d --backend=gpu --rows" "$fp" -d --backend=gpu --rows=1.. -c a.txt.fpc
else
    exits 1 "--backend=gpu" "$fp" -d --backend=gpu -c a.txt.fpc
    says "--backend=gpu" "no GPU"
fi
for option in --nonsense -x --codec=lz4 --codec=onpair:8 --codec=onpair:17 --codec=onpair:12:9 --codec=onpair:12: --optimize=size \
    --seed=-1 --seed= --chunk=0 --chunk=2G --chunk=5X --batch=33 --batch=0 --align=128 --sample=0 -T -T-1 -T2000 -Tx \
    --threads=1.5 --backend=tpu --json -i -ix --rm=1 --output --demo=1; do
    exits 1 "wrong option $option" "$fp" -f $option
    check "wrong option $option prints a message" test -s err
done
# A word of the command line cannot write escape sequences to a terminal either, nor can one in
# UTF-8 (U+009B).
exits 1 "a wrong value with control characters" "$fp" --codec=$'\033[2Jx\302\2331m\233y\001' a.txt
says "a wrong value with control characters" "not '?[2Jx?1m?y?'"
exits 1 "a wrong option with control characters" "$fp" $'--no\001such\033' a.txt
says "a wrong option with control characters" "no?such?"
exits 1 "--json without -l or -b" "$fp" --json -c a.txt
exits 1 "-o with -t" "$fp" -t -o x a.txt.fpc
exits 1 "-q" "$fp" -q none
says "-q prints errors" "none"

# ------------------------------------------------------------ terminals
cat >terminal.py <<'PYTHON'
import os, pty, subprocess, sys, time
# Runs a command with a terminal as stdout and stderr (stdin too with "-"), prints what it wrote,
# exits like it.
main, side = pty.openpty()
child = subprocess.Popen(sys.argv[2:], stdout=side, stderr=side, stdin=side if sys.argv[1] == "-" else subprocess.DEVNULL)
os.close(side)
while True:
    try:
        data = os.read(main, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.exit(child.wait())
PYTHON
cat >slow.sh <<SLOW
for i in 1 2 3 4 5; do cat odd/text; sleep 0.15; done | '$fp' -f -o progress.fpc
SLOW
on_terminals() {
    exits 1 "compressed data to a terminal" python3 terminal.py x "$fp" -c a.txt
    check "compressed data to a terminal: says -f" grep -q "terminal" out
    exits 0 "compressed data to a terminal with -f" python3 terminal.py x "$fp" -cf odd/one-line
    exits 1 "no file and a terminal" python3 terminal.py - "$fp"
    exits 0 "text to a terminal" python3 terminal.py x "$fp" -dc p.fpc
    check "text to a terminal arrives" grep -q hi out
    exits 0 "a summary on a terminal" python3 terminal.py x "$fp" -f a.txt
    check "a summary on a terminal is there" grep -q 'a.txt: .*=> ' out
    exits 0 "-q on a terminal" python3 terminal.py x "$fp" -q -f a.txt
    check "-q on a terminal is silent" test ! -s out
    exits 0 "progress on a terminal" python3 terminal.py x bash slow.sh
    check "progress on a terminal is drawn" grep -q 'MB/s' out
}
# A bare container may have no pseudo-terminals; where CI runs there must be some.
if [ -n "${CI:-}" ] || python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
    on_terminals
else
    echo "skipped: what is written to terminals, as this machine has no pseudo-terminals (/dev/pts)"
fi

finish
