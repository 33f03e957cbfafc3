#!/bin/bash
# output.sh - tests of the command: output is safe, whatever happens to the disk, the reader or the
# process.
. "$(dirname "$0")/common.sh"
make_odd
make_text
make_rows
damage rows.txt.fpc 5000 damaged.fpc

exits 1 "input as output" "$fp" -f -o a.txt a.txt
says "input as output" "both input and output"
check "input as output keeps it" cmp a.txt odd/text
ln a.txt hard.txt
exits 1 "a hard link of the input as output" "$fp" -f -o hard.txt a.txt
exits 1 "stdin as output" bash -c "'$fp' -f -o a.txt <a.txt"
exits 1 "appending to the input" bash -c "'$fp' -c a.txt >>a.txt"
check "appending to the input keeps it" cmp a.txt odd/text
exits 1 "a full disk" bash -c "'$fp' -c a.txt >/dev/full"
says "a full disk" "No space left"
exits 1 "a full disk, -o" "$fp" -o /dev/full a.txt
exits 1 "a full disk, -d" bash -c "'$fp' -dc a.txt.fpc >/dev/full"
says "a full disk, -d" "No space left"
exits 1 "a full disk, -l" bash -c "'$fp' -l a.txt.fpc >/dev/full"
exits 1 "a full disk, --help" bash -c "'$fp' --help >/dev/full"
# A limit on file sizes stands in for a disk that fills up in the middle of a file.
printf 'old' >limited.fpc
exits 1 "a file size limit" bash -c "ulimit -f 16; '$fp' -f --codec=stored -o limited.fpc a.txt"
says "a file size limit" "File too large"
check "a file size limit keeps the old file" grep -qx old limited.fpc
exits 1 "a file size limit, -d" bash -c "ulimit -f 16; '$fp' -d -o limited.txt a.txt.fpc"
check "a file size limit, -d, leaves nothing" absent limited.txt
check "a file size limit leaves no temporaries" no_temporaries
# A file system of 64 KiB, where this user may mount one.
if unshare -rm true 2>/dev/null && unshare -rm mount -t tmpfs none . 2>/dev/null; then
    mkdir small
    exits 0 "a full file system" unshare -rm bash -c "mount -t tmpfs -o size=64k none small && printf old >small/x &&
        { '$fp' -f --codec=stored -o small/x a.txt; test \$? = 1; } && grep -qx old small/x &&
        { '$fp' -d -o small/y a.txt.fpc; test \$? = 1; } && test \"\$(ls -A small)\" = x"
    says "a full file system" "No space left"
else
    echo "note: file systems cannot be mounted here, a full one is not tested"
fi
check "-o /dev/null" "$fp" -q -o /dev/null a.txt
check "/dev/null is still a device" test -c /dev/null
exits 1 "a closed stdout" bash -c "'$fp' -dc rows.txt.fpc >&-"
exits 1 "a closed stdin" bash -c "'$fp' -c - <&-"
exits 1 "a missing directory" "$fp" -o none/x.fpc a.txt
says "a missing directory" "No such file"

mkdir read-only
cp a.txt read-only/
chmod 644 read-only/a.txt
chmod 555 read-only
as_user=""
if [ "$(id -u)" = 0 ]; then as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"; fi
if [ -z "$as_user" ] || $as_user true 2>/dev/null; then
    exits 1 "a read-only directory" $as_user "$fp" read-only/a.txt
    says "a read-only directory" "Permission denied"
else
    echo "note: setpriv is missing, the read-only directory is not tested"
fi

cp a.txt mode.txt
chmod 640 mode.txt
touch -d '2001-02-03 04:05:06.789' mode.txt
"$fp" -q mode.txt
check "mode and time are kept" test "$(stat -c '%a %Y' mode.txt)" = "$(stat -c '%a %Y' mode.txt.fpc)"
"$fp" -q -d -o mode.back mode.txt.fpc
check "mode and time come back" test "$(stat -c '%a %.9Y' mode.txt)" = "$(stat -c '%a %.9Y' mode.back)"
(umask 027 && "$fp" -q -o umask.fpc <a.txt)
check "output from stdin follows umask" test "$(stat -c %a umask.fpc)" = 640

cp a.txt r.txt
exits 0 "--rm" "$fp" --rm r.txt
check "--rm removes the input" absent r.txt
exits 0 "-d --rm" "$fp" -d --rm r.txt.fpc
check "-d --rm removes the input" absent r.txt.fpc
check "-d --rm gives the same bytes" cmp r.txt a.txt
exits 0 "--rm -k keeps" "$fp" --rm -k -f r.txt
check "--rm -k keeps the input" test -e r.txt
exits 1 "--rm with an existing output" "$fp" --rm r.txt
check "--rm after a failure keeps the input" test -e r.txt
exits 2 "-d --rm of damage" "$fp" -d --rm damaged.fpc
check "-d --rm of damage keeps the input" test -e damaged.fpc
exits 0 "--rm -c" bash -c "'$fp' --rm -c r.txt >r2.fpc"
check "--rm -c keeps the input" test -e r.txt
exits 0 "--rm -o /dev/null" "$fp" --rm -o /dev/null r.txt
check "--rm -o /dev/null keeps the input" test -e r.txt

# Starts a compression that waits for more input, sends it a signal once its temporary is there.
interrupt() { # SIGNAL
    rm -f fifo slow.fpc
    mkfifo fifo
    python3 -c 'import os, resource, signal, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for number in signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE: signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], [sys.argv[1], "-q", "-o", "slow.fpc", "fifo"])' "$fp" 2>err &
    local child=$!
    exec 9>fifo
    head -c 300000 odd/text >&9
    for _ in $(seq 100); do
        if [ -n "$(find . -maxdepth 1 -name '.slow.fpc.*.tmp')" ]; then break; fi
        sleep 0.02
    done
    [ -n "$(find . -maxdepth 1 -name '.slow.fpc.*.tmp')" ] || echo "no temporary" >&2
    kill "-$1" $child
    wait $child 2>/dev/null
    interrupted=$?
    exec 9>&-
    rm -f fifo
}
for signal in HUP INT QUIT USR1 USR2 PIPE ALRM TERM XCPU VTALRM PROF IO PWR RTMIN RTMAX; do
    interrupt $signal
    check "SIG$signal ends it as that signal does" test "$interrupted" = $((128 + $(kill -l $signal)))
    check "SIG$signal leaves no output" absent slow.fpc
    check "SIG$signal removes the temporary" no_temporaries
done
interrupt KILL
check "SIGKILL leaves no output" absent slow.fpc
check "SIGKILL was in the middle" test -n "$(find . -maxdepth 1 -name '.slow.fpc.*.tmp')"
find . -maxdepth 1 -name '.slow.fpc.*.tmp' -delete

# A file that appears while the output is written is not replaced.
mkfifo fifo
"$fp" -q -o late.fpc fifo 2>err &
child=$!
exec 9>fifo
head -c 1000 odd/text >&9
for _ in $(seq 100); do
    [ -n "$(find . -maxdepth 1 -name '.late.fpc.*.tmp')" ] && break
    sleep 0.05
done
echo mine >late.fpc
exec 9>&-
wait $child
check "a file that appeared meanwhile makes it fail" test $? -eq 1
check "a file that appeared meanwhile is kept" grep -qx mine late.fpc
check "its temporary is gone" no_temporaries
rm -f fifo

finish
