"""What tests do to workers and files: kill them once, damage them. Workers import this module, too."""
import os
import pathlib
import re
import signal
import threading
import time

import fastpair as fp


def once(marker):
    """True for the first caller on this machine, whoever asks later."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_while_writing(parent, marker):
    """Kills this process as soon as a job has a file in a hidden folder below parent; the first caller only."""
    if not once(marker):
        return

    def watch():
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for folder, _, files in os.walk(parent):
                if ".writing-" in folder and files:
                    pathlib.Path(str(marker) + ".caught").write_text(os.path.join(folder, files[0]))
                    die()
            time.sleep(0.0002)

    threading.Thread(target=watch, daemon=True).start()


def damage(path, chunk=0):
    """Changes the middle of a chunk; returns its place in the file."""
    with fp.open(path) as column:
        place = column.chunks[chunk]
    at = place.file_offset + place.file_bytes // 2
    with open(path, "r+b") as file:
        file.seek(at)
        old = file.read(16)
        file.seek(at)
        file.write(bytes(byte ^ 0x5a for byte in old))
    return place


def assert_names(error, part, place):
    """An error must say which file is damaged, where, and what can be done."""
    found = re.search(rf"{re.escape(part)}/line\.fpc: .*?offset (\d+)", str(error))
    assert found and place.file_offset <= int(found[1]) < place.file_offset + place.file_bytes, error
    assert re.search(r"restore it from a copy, or\s+write the part again", str(error)), error
