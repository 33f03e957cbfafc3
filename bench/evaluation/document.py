"""document.py - a report as Markdown and as one HTML page. In: sections of paragraphs, tables
and plots. Out: text in both forms, with the same tables; plots stand in files beside the
Markdown, and inside the page.
"""

import re
from html import escape

STYLE = """
body {
    font: 15px/1.5 Helvetica, Arial, sans-serif; color: #222; background: #fff; max-width: 1240px;
    margin: 2em auto; padding: 0 1em;
}
h1 { font-size: 1.7em; }
h2 { font-size: 1.25em; margin-top: 2.2em; border-bottom: 1px solid #ccc; padding-bottom: .2em; }
.mark {
    display: inline-block; background: #0072B2; color: #fff; border-radius: 3px; padding: 0 .5em;
    font-size: .75em; vertical-align: middle; margin-left: .6em;
}
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; margin: 1em 0; }
th, td { border-bottom: 1px solid #ddd; padding: .25em .6em; white-space: nowrap; }
th { border-bottom: 2px solid #888; text-align: right; vertical-align: bottom; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
td.t, th.t { text-align: left; }
tr:hover td { background: #f4f8fb; }
.note { color: #555; }
figure { margin: 1.2em 0; overflow-x: auto; }
svg { max-width: 100%; height: auto; min-width: 620px; }
nav ul { margin: 0; }
nav { columns: 2 20em; font-size: 14px; }
"""


class Table:
    """Headers and rows of texts. Columns of numbers, dashes and empty cells are aligned right."""

    def __init__(self, headers, rows, caption=""):
        self.headers, self.rows, self.caption = (
            headers,
            [[str(cell) for cell in row] for row in rows],
            caption,
        )
        self.numeric = [all(is_number(row[i]) for row in self.rows) for i in range(len(headers))]

    def markdown(self):
        lines = [f"*{self.caption}*", ""] if self.caption else []
        lines.append("| " + " | ".join(self.headers) + " |")
        lines.append("|" + "|".join("--:" if numeric else "---" for numeric in self.numeric) + "|")
        lines += [
            "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in self.rows
        ]
        return "\n".join(lines)

    def html(self):
        head = "".join(
            f'<th{"" if numeric else " class=t"}>{escape(name)}</th>'
            for name, numeric in zip(self.headers, self.numeric)
        )
        rows = "".join(
            "<tr>"
            + "".join(
                f'<td class={"n" if numeric else "t"}>{escape(cell)}</td>'
                for cell, numeric in zip(row, self.numeric)
            )
            + "</tr>"
            for row in self.rows
        )
        caption = f'<p class="note">{escape(self.caption)}</p>' if self.caption else ""
        return (
            f"{caption}<div"
            f' class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        )


class Plot:
    def __init__(self, name, svg, caption=""):
        self.name, self.svg, self.caption = re.sub(r"[^A-Za-z0-9._-]+", "-", name), svg, caption


class Section:
    """`mark` names the part of the paper that the section repeats."""

    def __init__(self, title, mark=None):
        self.title, self.mark, self.parts = title, mark, []

    def say(self, text):
        self.parts.append(text)
        return self

    def add(self, part):
        self.parts.append(part)
        return self


def is_number(cell):
    return (
        cell in ("", "–")
        or re.fullmatch(r"[-+−]?[\d.]+( %)?( \([\d.]+[ %*]*\))?", cell) is not None
    )


def markdown(title, lead, sections, folder):
    out = [f"# {title}", "", *[paragraph + "\n" for paragraph in lead]]
    for section in sections:
        out += [f"## {section.title}" + (f" ({section.mark})" if section.mark else ""), ""]
        for part in section.parts:
            if isinstance(part, Table):
                out += [part.markdown(), ""]
            elif isinstance(part, Plot):
                out += [f"![{part.caption or section.title}]({folder}/{part.name}.svg)", ""]
            else:
                out += [part, ""]
    return "\n".join(out).rstrip() + "\n"


def html(title, lead, sections):
    out = [
        (
            "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><meta name=viewport"
            " content='width=device-width'>"
        ),
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><h1>{escape(title)}</h1>",
    ]
    out += [f"<p>{escape(paragraph)}</p>" for paragraph in lead]
    out.append(
        "<nav><ul>"
        + "".join(f'<li><a href="#s{i}">{escape(s.title)}</a></li>' for i, s in enumerate(sections))
        + "</ul></nav>"
    )
    for i, section in enumerate(sections):
        mark = f'<span class="mark">{escape(section.mark)}</span>' if section.mark else ""
        out.append(f'<h2 id="s{i}">{escape(section.title)}{mark}</h2>')
        for part in section.parts:
            if isinstance(part, Table):
                out.append(part.html())
            elif isinstance(part, Plot):
                out.append(
                    f"<figure>{part.svg}"
                    + (
                        f"<figcaption class=note>{escape(part.caption)}</figcaption>"
                        if part.caption
                        else ""
                    )
                    + "</figure>"
                )
            else:
                out.append(f"<p>{escape(part)}</p>")
    out.append("</body></html>\n")
    return "\n".join(out)
