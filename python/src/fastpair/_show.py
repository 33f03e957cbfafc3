"""How columns look: on a terminal and in a notebook."""
import html

SHOWN_ROWS = 5
SHOWN_CHARACTERS = 60


def number(value):
    return f"{value:,}"


def size(value):
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def row(value):
    text = "null" if value is None else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS - 1] + "…"


def rows(sequence):
    shown = [row(sequence[i]) for i in range(min(3, len(sequence)))]
    return ", ".join(shown + ["…"] * (len(sequence) > 3))


def codec(info):
    """For example 'onpair 16 bits, tokens of up to 16 bytes'."""
    if info["codec"] == "stored":
        return "stored"
    text = f"{info['codec']}, {info['code_bits']} bits, tokens of up to {info['max_token']} bytes"
    return text + (", cold" if info["cold_chunks"] else "")


def facts(column):
    """Pairs of words that describe a column."""
    info = column.info
    part = len(column) != info["rows"]
    shown = [("rows", number(len(column)) + (f" of {number(info['rows'])}" if part else ""))]
    if info["nulls"]:
        shown.append(("null", number(info["nulls"])))
    shown += [("type", column.type), ("decoded", size(info["decoded_bytes"])),
              ("compressed", size(info["compressed_bytes"])), ("ratio", f"{info['ratio']:.2f}"), ("codec", codec(info))]
    return shown


def title(column):
    name = column.name
    return "fastpair.Column" + (f" {name!r}" if name else "")


def first_rows(column):
    return [(column.first + i, row(column[i])) for i in range(min(SHOWN_ROWS, len(column)))]


def column_text(column):
    lines = [title(column), "  " + ", ".join(f"{key} {value}" for key, value in facts(column))]
    listed = first_rows(column)
    width = max((len(str(i)) for i, _ in listed), default=0)
    lines += [f"  {i:>{width}}  {value}" for i, value in listed]
    return "\n".join(lines + ["  …"] * (len(column) > SHOWN_ROWS))


def column_html(column):
    head = "".join(f"<tr><th style='text-align:left'>{html.escape(key)}</th><td style='text-align:left'>"
                   f"{html.escape(value)}</td></tr>" for key, value in facts(column))
    body = "".join(f"<tr><td>{i}</td><td style='text-align:left'><code>{html.escape(value)}</code></td></tr>"
                   for i, value in first_rows(column))
    more = "<tr><td>…</td><td></td></tr>" if len(column) > SHOWN_ROWS else ""
    return (f"<div><b>{html.escape(title(column))}</b><table>{head}</table>"
            f"<table><tr><th>row</th><th style='text-align:left'>value</th></tr>{body}{more}</table></div>")
