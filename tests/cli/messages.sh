#!/bin/bash
# messages.sh - tests of the command: what it says is true, and what it advises helps.
. "$(dirname "$0")/common.sh"
make_odd
make_text
mkdir locked closed
cp a.txt locked/a.txt
cp a.txt closed/a.txt
cp a.txt.fpc closed/a.txt.fpc
chmod 666 a.txt locked/a.txt
chmod 000 closed/a.txt closed/a.txt.fpc
chmod 777 closed
mkdir open
chmod 777 open
silent() { ! grep -qF -- "$2" err; } # DESCRIPTION TEXT

as_user=""
if [ "$(id -u)" = 0 ]; then as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"; fi
if [ -z "$as_user" ] || $as_user true 2>/dev/null; then
    for words in "closed/a.txt" "-d closed/a.txt.fpc" "-t closed/a.txt.fpc" "-l closed/a.txt.fpc" "-D closed/a.txt -c a.txt"; do
        exits 1 "not readable: $words" $as_user "$fp" $words
        says "not readable: $words" "Permission denied; check the permissions"
        check "not readable: $words: -o is no help" silent err "-o"
    done
    chmod 555 locked
    exits 1 "not writable" $as_user "$fp" locked/a.txt
    says "not writable" "write elsewhere with -o"
    exits 1 "--train-dict not writable" $as_user "$fp" --train-dict=locked/d a.txt
    says "--train-dict not writable" "name another file"
    exits 1 "--rm not permitted" $as_user "$fp" --rm -o open/a.fpc locked/a.txt
    says "--rm not permitted" "open/a.fpc is complete, but the input could not be removed: Permission denied"
    check "--rm not permitted keeps the input" cmp locked/a.txt odd/text
    check "--rm not permitted: the output is complete" bash -c "'$fp' -dc open/a.fpc | cmp - odd/text"
else
    echo "note: setpriv is missing, permissions are not tested"
fi

printf old >d
exits 1 "--train-dict of an existing file" "$fp" --train-dict=d a.txt
says "--train-dict of an existing file" "use -f to overwrite it, or name another file"
exits 1 "-o of an existing file" "$fp" -o d a.txt
says "-o of an existing file" "use -f to overwrite it, or write elsewhere with -o"
for words in "-b -i0 odd/one-line" "-b -i0 --json odd/one-line" "-l a.txt.fpc" "-l --json a.txt.fpc" "-t a.txt.fpc" "--help" "-V"; do
    exits 1 "$words >/dev/full" bash -c "'$fp' $words >/dev/full"
    says "$words >/dev/full" "standard output: No space left on device"
done
exits 1 "-l of many files >/dev/full" bash -c "'$fp' -l $(printf 'a.txt.fpc %.0s' {1..200}) >/dev/full"
says "-l of many files >/dev/full" "standard output: No space left on device"
exits 1 "-l of nothing" "$fp" -l none.fpc
check "-l of nothing prints no head" test ! -s out
exits 2 "-l of no column" "$fp" -l a.txt
check "-l of no column prints no head" test ! -s out
exits 1 "-l of something" "$fp" -l none.fpc a.txt.fpc
check "-l of something prints its head once" test "$(grep -c Filename out)" = 1
if mknod disk b 7 250 2>/dev/null; then
    exits 1 "a block device" "$fp" -o disk a.txt
    says "a block device" "use -f"
fi
exits 1 "a directory" "$fp" -f -o odd a.txt
says "a directory" "is a directory"
chmod 755 locked

finish
