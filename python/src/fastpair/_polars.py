"""Polars: a table as a LazyFrame. Projection, row limits and predicates come down to the files.

A predicate comes as an expression, whose JSON form is read. What is understood becomes a condition (see
_condition.py) that runs on codes, so that only rows that pass are decoded. What is not understood is left
to Polars: an unknown shape anywhere is no error, it only costs the decoding.
"""
import io
import json
import re

from . import _dataset, _fastpair, _unit

_STRING_TESTS = {"StartsWith": "prefix", "EndsWith": "suffix"}
_BINARY_TESTS = {"Contains": "contains", **_STRING_TESTS}


class _Unknown(Exception):
    """This expression is left to Polars."""


# ---------------------------------------------------------------- expressions

class _Translator:
    """Polars expressions over the columns of strings, as conditions with the same answers, null included."""

    def __init__(self, types, polars):
        self.types, self.polars = types, polars

    def conjunction(self, node):
        """A condition that is true wherever the expression is, or None; and whether it is all of it."""
        understood, complete = [], True
        for one in _operands(node, ("And", "LogicalAnd")):
            try:
                understood.append(self.translate(one))
            except _Unknown:
                complete = False
        if len(understood) > 1:
            return ("and", *understood), complete
        return (understood[0] if understood else None), complete

    def translate(self, node):
        kind, inside = _only(node)
        if kind == "BinaryExpr":
            return self._binary(node, inside)
        if kind == "Function":
            return self._function(inside["input"], inside["function"])
        if kind == "Literal":
            return self._constant(node)
        raise _Unknown

    def _binary(self, node, inside):
        operator = inside["op"]
        if operator in ("And", "LogicalAnd", "Or", "LogicalOr"):
            same = ("And", "LogicalAnd") if "And" in operator else ("Or", "LogicalOr")
            return same[0].lower(), *(self.translate(one) for one in _operands(node, same))
        if operator not in ("Eq", "NotEq", "EqValidity", "NotEqValidity"):
            raise _Unknown
        left, right = inside["left"], inside["right"]
        if "Column" not in left:
            left, right = right, left
        name = self._column(left)
        value = self._value(right, name)
        test = "equals", name, value
        if operator.endswith("Validity"):
            # A comparison in which null equals null, and nothing else.
            present = "not", ("is_null", name)
            test = ("is_null", name) if value is None else ("and", present, test)
        return ("not", test) if operator.startswith("Not") else test

    def _function(self, inputs, function):
        if not isinstance(function, dict):
            raise _Unknown
        family, what = _only(function)
        options = {}
        if isinstance(what, dict):
            what, options = _only(what)
        if family == "Boolean":
            return self._boolean(inputs, what, options)
        name = self._column(inputs[0])
        if family == "StringExpr" and self.types[name] == "text" and len(inputs) == 2:
            if what == "Contains":
                value = self._value(inputs[1], name)
                return ("contains", name, value) if options["literal"] is True else _of_regex(name, value)
            if what == "ContainsAny" and options == {"ascii_case_insensitive": False}:
                values = self._values(inputs[1], name)
                if not values or None in values:
                    raise _Unknown
                return "or", *(("contains", name, value) for value in values)
            if what in _STRING_TESTS:
                return _STRING_TESTS[what], name, self._value(inputs[1], name)
        if family == "BinaryExpr" and self.types[name] == "bytes" and len(inputs) == 2 and what in _BINARY_TESTS:
            return _BINARY_TESTS[what], name, self._value(inputs[1], name)
        raise _Unknown

    def _boolean(self, inputs, what, options):
        if what == "Not" and len(inputs) == 1:
            return "not", self.translate(inputs[0])
        if what in ("IsNull", "IsNotNull") and len(inputs) == 1:
            test = "is_null", self._column(inputs[0])
            return test if what == "IsNull" else ("not", test)
        if what != "IsIn" or len(inputs) != 2:
            raise _Unknown
        name = self._column(inputs[0])
        values = self._values(inputs[1], name)
        known = [value for value in values if value is not None]
        if not known:
            raise _Unknown
        # Null among the values equals nothing, unless it is asked for.
        if not options["nulls_equal"]:
            return "isin", name, known
        if len(known) < len(values):
            return "or", ("is_null", name), ("isin", name, known)
        return "and", ("not", ("is_null", name)), ("isin", name, known)

    # ------------------------------------------------------------ operands

    def _column(self, node):
        kind, name = _only(node)
        if kind != "Column" or not isinstance(self.types.get(name), str):
            raise _Unknown
        return name

    def _literal(self, node):
        """The one value of a literal, by Polars itself."""
        below = node
        while (kind := _only(below)[0]) != "Literal":
            if kind == "Cast":
                below = below["Cast"]["expr"]
            elif kind == "Alias":
                below = below["Alias"][0]
            else:
                raise _Unknown
        polars = self.polars
        expression = polars.Expr.deserialize(io.BytesIO(json.dumps(node).encode()), format="json")
        series = polars.select(expression).to_series()
        if len(series) != 1:
            raise _Unknown
        return series

    def _dtype(self, name):
        return self.polars.String if self.types[name] == "text" else self.polars.Binary

    def _value(self, node, name):
        series = self._literal(node)
        if series.dtype not in (self._dtype(name), self.polars.Null):
            raise _Unknown
        return series[0]

    def _values(self, node, name):
        series = self._literal(node)
        if series.dtype != self.polars.List(self._dtype(name)) or series[0] is None:
            raise _Unknown
        return series[0].to_list()

    def _constant(self, node):
        series = self._literal(node)
        column = next((name for name, kind in self.types.items() if isinstance(kind, str)), None)
        if series.dtype != self.polars.Boolean or series[0] is None or column is None:
            raise _Unknown
        never = "isin", column, []
        return ("not", never) if series[0] else never


def _only(node):
    """The one key of a node, or the name that stands for it, and what it holds."""
    if isinstance(node, str):
        return node, {}
    if not isinstance(node, dict) or len(node) != 1:
        raise _Unknown
    return next(iter(node.items()))


def _operands(node, operators):
    """The operands of a chain of one operator, however it is nested."""
    found, waiting = [], [node]
    while waiting:
        node = waiting.pop()
        inside = node.get("BinaryExpr") if isinstance(node, dict) else None
        if inside and inside["op"] in operators:
            waiting += [inside["right"], inside["left"]]
        else:
            found.append(node)
    return found


def _of_regex(name, pattern):
    """A regular expression that is a plain text, perhaps anchored, or made of SQL's LIKE."""
    if pattern is None:
        return "contains", name, None
    special = r"[\\.+*?()|\[\]{}^$]"
    begins, ends = pattern.startswith("^"), pattern.endswith("$")
    plain = pattern[begins:len(pattern) - ends] if len(pattern) > 1 else pattern
    if not re.search(special, plain):
        kind = "equals" if begins and ends else "prefix" if begins else "suffix" if ends else "contains"
        return kind, name, plain
    like = re.fullmatch(r"\(\?s\)(\^?)(.*?)(\$?)", pattern, re.S)
    if not like:
        raise _Unknown
    begins, middle, ends = like.groups()
    text = "" if begins else "%"
    while middle:
        found = re.match(r"\.\*|\.|\\([^\w\s%])|([^\\.+*?()|\[\]{}^$%_])", middle, re.S)
        if not found:
            raise _Unknown
        text += {".*": "%", ".": "_"}.get(found[0]) or found[1] or found[2]
        middle = middle[found.end():]
        if middle[:1] in ("*", "+", "?", "{"):
            raise _Unknown
    return "like", name, text + ("" if ends else "%")


def understand(predicate, types, polars):
    """conjunction() of a Polars expression; (None, False) if there is anything that cannot be read."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
        return _Translator(types, polars).conjunction(tree)
    except (_Unknown, RecursionError):
        return None, False
    except Exception:  # a later Polars may say things in another way
        return None, False


# ---------------------------------------------------------------- scanning

class _Source:
    """What Polars calls for the rows; it can be pickled."""

    def __init__(self, dataset, threads):
        self.dataset, self.threads = dataset, threads
        self.types = {name: dataset.parts[0].types[name] for name in dataset.columns}

    def schema(self):
        import polars

        others = [name for name, kind in self.types.items() if not isinstance(kind, str)]
        found = polars.DataFrame(self.dataset[others].arrow_schema.empty_table()).schema if others else {}
        strings = {"text": polars.String, "bytes": polars.Binary}
        return {name: found[name] if name in found else strings[kind] for name, kind in self.types.items()}

    def __call__(self, with_columns, predicate, n_rows, batch_size):
        import polars

        wanted = self.dataset.columns if with_columns is None else list(with_columns)
        where, complete = (None, True) if predicate is None else understand(predicate, self.types, polars)
        tested = [] if predicate is None else predicate.meta.root_names()
        read = wanted if complete else [*wanted, *(name for name in tested if name not in wanted)]
        is_all = predicate is None and n_rows is None
        units = self.dataset._large_units(self.threads) if is_all else self.dataset._batch_units()
        if n_rows is not None:
            # These are rows of the table: a predicate comes afterwards.
            units = _first_rows(units, n_rows)
        schema = self.schema()
        everything = list(dict.fromkeys([*wanted, *tested]))
        found, all_rows = _unit.Readers(read, where, True), _unit.Readers(everything, None, True)

        def chosen(frame, names, rest):
            if frame is not None and rest is not None:
                frame = frame.filter(rest)
            return frame if frame is None or names == wanted else frame.select(wanted)

        def work(unit):
            """The rows of a unit that are wanted; None: there are none."""
            if where is not None:
                try:
                    return chosen(_frame(found.pieces(unit), polars), read, None if complete else predicate)
                except _fastpair.Error as error:
                    # Too many patterns, or too long ones.
                    if error.status not in ("LIMIT", "INVALID_ARGUMENT"):
                        raise
            return chosen(_frame(all_rows.pieces(unit), polars), everything, predicate)

        nothing = polars.DataFrame(schema={name: schema[name] for name in wanted})
        yield from _joined(_dataset.ahead(work, units, self.threads, _rows), nothing, polars)


# Rows that are handed to Polars at once where units have fewer, and of how many units at most.
JOINED_ROWS, JOINED_UNITS = 1 << 17, 64


def _rows(frame):
    return 0 if frame is None else len(frame)


def _joined(frames, nothing, polars):
    """The frames of units, or one without rows. Small ones are joined, since each that is handed over wakes threads
    up: the first has one unit, for those who want a few rows, the next has four, and so on."""
    waiting, rows, units, most, given = [], 0, 0, 1, False
    for frame in frames:
        units += 1
        if _rows(frame):
            waiting.append(frame)
            rows += len(frame)
        if waiting and (units >= most or rows >= JOINED_ROWS):
            yield polars.concat(waiting, rechunk=False)
            waiting, rows, units, most, given = [], 0, 0, min(4 * most, JOINED_UNITS), True
    if waiting or not given:
        yield polars.concat(waiting or [nothing], rechunk=False)


def _first_rows(units, count):
    result = []
    for unit in units:
        if count <= 0:
            break
        rows = min(unit.rows, count)
        result.append(unit if rows == unit.rows else _unit.shortened(unit, rows))
        count -= rows
    return result


def _frame(pieces, polars):
    """The rows of a unit, piece by piece, as a frame; None: there are none."""
    frames = [polars.DataFrame([polars.Series(name, values, strict=True) for name, values in columns.items()])
              for _, columns in pieces]
    return polars.concat(frames, rechunk=False) if len(frames) > 1 else frames[0] if frames else None


def scan(path, *, threads=None, storage_options=None):
    """A table as a Polars LazyFrame: pl.col("url").str.contains("x", literal=True) and the like run on codes.

    path     what open_table() takes, or a Dataset
    threads  that read units side by side; None: one per CPU
    storage_options   for URLs, as open_table() takes them

    Only columns and rows that a query needs are decoded. Filters that are understood, alone or in and, or and
    not of each other: str.contains of a text (literal=True, or a pattern without special characters),
    str.starts_with, str.ends_with, ==, !=, is_in, is_null, is_not_null, SQL's LIKE; each with a constant.
    Any other filter works as well, after decoding. Needs polars.
    """
    from polars.io.plugins import register_io_source

    dataset = path if isinstance(path, _dataset.Dataset) else _dataset.open_table(
        path, storage_options=storage_options)
    source = _Source(dataset, threads)
    return register_io_source(source, schema=source.schema(), is_pure=True)
