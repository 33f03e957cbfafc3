"""What every block obeys: kind, header size, checksums, zero fields, and where its sections lie."""

from decoder.headers import CHUNK_KIND, DICTIONARY_KIND, FOOTER_KIND
from decoder.wire import integer, require, require_hash, require_zero, round_up

KINDS = (CHUNK_KIND, DICTIONARY_KIND, FOOTER_KIND)


def read_header(image, at, end, kind, layout, minor):
    """The fields of the block's header, which lies before end, with its own rules checked.

    minor: of the file. Above 0, zero fields are ignored.
    """
    require(at + layout.size <= end, "a block's header lies inside the file", at)
    values = layout.read(image, at)
    require(values["kind"] == kind, "kind of block", at)
    require(values["header_size"] == layout.size, "header size", at + 4)
    require_hash(image, at, at + layout.size - 8, values["hash"], "a block's header")
    if minor == 0:
        layout.require_zeros(image, at)
    return values


def read_extra_block(image, at, end, alignment):
    """The size of a block of a kind that is not known, between the last chunk and the footer."""
    require(at + 16 <= end, "a block's header lies inside the file", at)
    kind, header_size, size = integer(image, at, 4), integer(image, at + 4, 4), integer(image, at + 8, 8)
    require(kind not in KINDS, "kind of an extra block", at)
    require(24 <= header_size <= size and size % alignment == 0, "sizes of an extra block", at + 4)
    require(at + size <= end, "an extra block lies before the footer", at + 8)
    digest = integer(image, at + header_size - 8, 8)
    require_hash(image, at, at + header_size - 8, digest, "an extra block's header")
    return size


def read_sections(image, at, end, alignment, layout, values, names):
    """The sections' bytes by name. Checks places, gaps and checksums, and the block's size."""
    require(at + values["block_size"] <= end, "a block lies before the footer", at + 8)
    sections = {}
    used = layout.size
    for name in names:
        entry_at = at + layout.fields[f"{name}_offset"][0]
        offset, size, digest = (values[f"{name}_{field}"] for field in ("offset", "size", "hash"))
        if size == 0:
            require(offset == 0 and digest == 0, f"an empty {name} section has offset 0 and hash 0", entry_at)
            sections[name] = b""
            continue
        require(offset == round_up(used, alignment), f"place of the {name} section", entry_at)
        require(offset + size <= values["block_size"], f"the {name} section lies in its block", entry_at + 8)
        require_zero(image, at + used, at + offset, "a gap")
        require_hash(image, at + offset, at + offset + size, digest, f"the {name} section")
        sections[name] = image[at + offset : at + offset + size]
        used = offset + size
    require(values["block_size"] == round_up(used, alignment), "block size", at + 8)
    require_zero(image, at + used, at + values["block_size"], "a gap")
    return sections
