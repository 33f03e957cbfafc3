"""Makes a loadable extension of a shared library: appends the 534 bytes that DuckDB reads from the file's end.

append_tail.py LIBRARY EXTENSION PLATFORM API_VERSION EXTENSION_VERSION
"""

import sys
from pathlib import Path


def tail(platform: str, api_version: str, extension_version: str) -> bytes:
    """The tail: the begin of a WebAssembly custom section, eight fields of 32 bytes, no signature (256 zeros)."""
    # The fields are counted from the last one: the form of the tail, the platform, which version of DuckDB's C
    # interface is needed, the extension's own version, how it binds to that interface, and three without a use.
    fields = ["4", platform, api_version, extension_version, "C_STRUCT", "", "", ""]
    packed = b""
    for field in reversed(fields):
        data = field.encode()
        if len(data) > 32:
            raise SystemExit(f"append_tail.py: {field!r} has more than 32 bytes")
        packed += data.ljust(32, b"\0")
    # Lengths as LEB128: 531 bytes follow, 16 of them are the name; 512 follow the name.
    return b"\0" + b"\x93\x04\x10" + b"duckdb_signature" + b"\x80\x04" + packed + bytes(256)


def main() -> None:
    """Writes the extension under a temporary name first: a half-written one is never loaded."""
    library, extension = Path(sys.argv[1]), Path(sys.argv[2])
    data = library.read_bytes() + tail(*sys.argv[3:6])
    unfinished = extension.with_name(f".{extension.name}.part")
    unfinished.write_bytes(data)
    unfinished.replace(extension)


if __name__ == "__main__":
    main()
