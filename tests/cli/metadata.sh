#!/bin/bash
# metadata.sh - tests of the command: name, type, pairs, and bounds of chunks.
. "$(dirname "$0")/common.sh"
make_rows

# field FILE EXPRESSION: what Python makes of the object that -l --json prints.
field() { "$fp" -l --json --chunks "$1" | python3 -c "import json, sys; o = json.load(sys.stdin); print($2)"; }
# shows DESCRIPTION FILE EXPRESSION WANTED
shows() { check "$1" test "$(field "$2" "$3")" = "$4"; }

# ------------------------------------------------------------ what goes in comes out
printf 'apple\nbanana\n\303\251t\303\251\n' >fruit.txt
exits 0 "all of it" "$fp" -c --name="Straße \"1\"" --meta=unit=EUR --meta='b=x=y\' --meta=empty= --type=text fruit.txt
cp out fruit.fpc
shows "name" fruit.fpc "o['name']" 'Straße "1"'
shows "type" fruit.fpc "o['type']" text
shows "pairs" fruit.fpc "o['metadata'] == {'b': 'x=y' + chr(92), 'empty': '', 'unit': 'EUR'}" True
check "the text is the same" bash -c "'$fp' -dc fruit.fpc | cmp - fruit.txt"
check "-t" "$fp" -t fruit.fpc
exits 0 "-lv" "$fp" -lv fruit.fpc
check "-lv shows the name" grep -q 'name            Straße "1"' out
check "-lv shows the type" grep -q 'type            text' out
check "-lv shows pairs" grep -q 'pair            unit = EUR' out
exits 0 "-l" "$fp" -l fruit.fpc
check "-l shows the name" grep -q 'fruit.fpc (Straße "1")$' out

check "compress without options" "$fp" -q fruit.txt -o plain.fpc
shows "no name" plain.fpc "o['name']" None
shows "no pairs" plain.fpc "o['metadata']" "{}"
shows "detected text" plain.fpc "o['type']" text
printf 'caf\351\n' >latin.txt
check "compress bytes" "$fp" -q latin.txt -o latin.fpc
shows "detected bytes" latin.fpc "o['type']" bytes
check "compress as bytes" "$fp" -qf --type=bytes fruit.txt -o plain.fpc
shows "bytes if they are said to be" plain.fpc "o['type']" bytes
check "a value that is not UTF-8" "$fp" -qf --meta="k=$(printf '\377')" fruit.txt -o odd.fpc
shows "base64" odd.fpc "o['metadata']" "{'k': {'base64': '/w=='}}"
check "control characters" "$fp" -qf --meta="k=$(printf 'a\001\033[1m')" fruit.txt -o odd.fpc
shows "escapes" odd.fpc "o['metadata']['k'] == 'a\\x01\\x1b[1m'" True
exits 0 "-lv with controls" "$fp" -lv odd.fpc
check "-lv shows no controls" grep -q 'k = a??\[1m' out

# ------------------------------------------------------------ bounds
yes "$(tr -dc 'a-z0-9 ' </dev/urandom | head -c 60)" | head -2000 | awk '{print NR % 700 "-" NR*NR*7919 % 1000003 $0}' >many.txt
check "a column of chunks" "$fp" -q --codec=stored --chunk=60K many.txt -o many.fpc
shows "chunks" many.fpc "len(o['chunk_list']) == o['chunks'] > 1" True
shows "bounds" many.fpc "all(c['smallest'] <= c['largest'] and len(c['smallest']) <= 64 for c in o['chunk_list'])" True
check "bounds are those of the rows" python3 - "$fp" <<'PYTHON'
import json, subprocess, sys
column = json.loads(subprocess.run([sys.argv[1], "-l", "--json", "--chunks", "many.fpc"], stdout=-1).stdout)
rows = open("many.txt").read().split("\n")
for chunk in column["chunk_list"]:
    of = rows[chunk["first_row"] : chunk["first_row"] + chunk["rows"]]
    for key, row in (("smallest", min(of)), ("largest", max(of))):
        assert chunk[key] == row[: len(chunk[key])] and chunk[key + "_is_cut"] == (chunk[key] != row), chunk
PYTHON
shows "no bounds in small files" plain.fpc "'smallest' in o['chunk_list'][0]" False
exits 0 "-l --json without --chunks" "$fp" -l --json many.fpc
check "has no chunks" bash -c "! grep -q chunk_list out"
check "is JSON" json_ok out

# ------------------------------------------------------------ mistakes
exits 1 "text that is none" "$fp" -c --type=text latin.txt
says "text that is none" "row 0 is not UTF-8"
(seq 300000; printf 'caf\351\n') >late.txt
exits 1 "text that is none, late" "$fp" --type=text late.txt -o late.fpc
says "text that is none, late" "row 300000 is not UTF-8"
check "nothing is left" absent late.fpc
exits 1 "--type of nothing known" "$fp" -c --type=string fruit.txt
says "--type of nothing known" "--type takes text, bytes or detect"
for bad in unit =EUR ''; do exits 1 "--meta=$bad" "$fp" -c --meta="$bad" fruit.txt; done
exits 1 "a key twice" "$fp" -c --meta=a=1 --meta=a=2 fruit.txt
says "a key twice" "two pairs have the key 'a'"
exits 1 "a name that is not UTF-8" "$fp" -c --name="$(printf '\377')" fruit.txt
says "a name that is not UTF-8" "the name is not UTF-8"
exits 1 "a long name" "$fp" -c --name="$(head -c 1025 /dev/zero | tr '\0' n)" fruit.txt
exits 1 "--name of two files" "$fp" --name=x fruit.txt latin.txt
exits 1 "--name with -d" "$fp" -dc --name=x fruit.fpc
exits 1 "--meta with -l" "$fp" -l --meta=a=b fruit.fpc
exits 1 "--chunks without --json" "$fp" -l --chunks fruit.fpc
exits 1 "--chunks with -b" "$fp" -b --json --chunks fruit.txt
check "the most pairs" "$fp" -qc $(for i in $(seq 256); do echo "--meta=k$i=$i"; done) fruit.txt
exits 1 "one pair more" "$fp" -c $(for i in $(seq 257); do echo "--meta=k$i=$i"; done) fruit.txt
finish
