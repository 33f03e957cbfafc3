"""Conditions over the columns of a table: plain tuples that can be pickled.

    ("contains" | "prefix" | "suffix" | "equals" | "like", column, str or bytes)
    ("isin", column, [values])   ("is_null", column)
    ("and" | "or", a, b, ...)    ("not", a)

As in SQL, a test of null is neither true nor false, and a row is chosen where the whole is true. Tests of
columns of strings run on codes: all tests of one column that stand together become one predicate of the
library. Answers are pairs of Python integers with a bit per row: where it is true, where it is false.
"""
from ._search import ALL_OF, ANY_OF
from ._search import where as _where

_STRINGS = ("contains", "prefix", "suffix", "equals", "like")


def check(condition, names):
    """Raises unless it is a condition over columns with these names."""
    if not isinstance(condition, (tuple, list)) or not condition or not isinstance(condition[0], str):
        raise TypeError(f"a condition is a tuple such as ('contains', 'url', 'x'), not {condition!r}")
    kind, *rest = condition
    if kind in ("and", "or", "not"):
        if not rest or kind == "not" and len(rest) != 1:
            raise TypeError(f"{kind!r} has {'one condition' if kind == 'not' else 'conditions'} after it")
        for one in rest:
            check(one, names)
        return
    if kind not in (*_STRINGS, "isin", "is_null"):
        raise ValueError(f"no condition is called {kind!r}")
    if len(rest) != (1 if kind == "is_null" else 2):
        raise TypeError(f"({kind!r}, column{'' if kind == 'is_null' else ', value'}) is needed, not {condition!r}")
    if rest[0] not in names:
        raise KeyError(f"no column {rest[0]!r}; there are: {', '.join(map(repr, names))}")


def columns(condition):
    """The names that a condition tests."""
    kind, *rest = condition
    if kind in ("and", "or", "not"):
        return set().union(*map(columns, rest))
    return {rest[0]}


def plan(condition, strings):
    """A tree of ("codes", column, predicate), ("rest", test), ("unknown",), and, or, not of them."""
    kind, *rest = condition
    if kind == "not":
        below = plan(rest[0], strings)
        if below[0] == "codes":
            _, name, (number, negate, *others) = below
            return "codes", name, (number, not negate, *others)
        return "not", below
    if kind in ("and", "or"):
        return _together(kind, [plan(one, strings) for one in rest])
    if kind != "is_null" and rest[1] is None:
        return ("unknown",)
    if kind == "isin" and any(value is None for value in rest[1]):
        known = [value for value in rest[1] if value is not None]
        return _together("or", [plan(("isin", rest[0], known), strings), ("unknown",)])
    if rest[0] not in strings:
        return "rest", tuple(condition)
    if kind == "is_null":
        return "codes", rest[0], _where(is_null=True)._tree
    if kind != "isin" and not isinstance(rest[1], (str, bytes, bytearray, memoryview)):
        raise TypeError(f"column {rest[0]!r} has strings; {rest[1]!r} is none")
    return "codes", rest[0], _where(**{kind: rest[1]})._tree


def _together(kind, nodes):
    """Tests of one column become one predicate, in the place of the first of them."""
    merged, by_name = [], {}
    for node in nodes:
        if node[0] == "codes" and node[1] in by_name:
            by_name[node[1]].append(node[2])
        else:
            merged.append(node)
            if node[0] == "codes":
                by_name[node[1]] = [node[2]]
    number = ALL_OF if kind == "and" else ANY_OF
    for i, node in enumerate(merged):
        if node[0] == "codes" and len(by_name[node[1]]) > 1:
            merged[i] = "codes", node[1], (number, False, False, -1, (), tuple(by_name[node[1]]))
    return merged[0] if len(merged) == 1 else (kind, *merged)


def bits(array):
    """The pair of integers of a boolean array of ours."""
    first, count = array._offset, len(array)
    mask = (1 << count) - 1
    true = int.from_bytes(array._buffer(1), "little") >> first & mask
    validity = array._buffer(0)
    valid = mask if validity is None else int.from_bytes(validity, "little") >> first & mask
    return true & valid, ~true & valid & mask


def evaluate(node, rows, codes, rest):
    """Where a plan is true and where it is false, of `rows` rows.

    codes(column, predicate) answers for columns of strings, rest(test) for the others.
    """
    kind = node[0]
    if kind == "codes":
        return codes(node[1], node[2])
    if kind == "rest":
        return rest(node[1])
    if kind == "unknown":
        return 0, 0
    if kind == "not":
        return evaluate(node[1], rows, codes, rest)[::-1]
    all_rows = (1 << rows) - 1
    true, false = (all_rows, 0) if kind == "and" else (0, all_rows)
    for below in node[1:]:
        one, other = evaluate(below, rows, codes, rest)
        if kind == "and":
            true, false = true & one, false | other
            if false == all_rows:
                break
        else:
            true, false = true | one, false & other
            if true == all_rows:
                break
    return true, false


def evaluate_arrow(test, column):
    """A test of a column that is not ours, by pyarrow: the pair of integers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = test[0]
    if kind == "is_null":
        answer = pc.is_null(column)
    elif kind == "isin":
        # pyarrow's own says false of null.
        found = pc.is_in(column, value_set=pa.array(list(test[2]), column.type))
        answer = pc.if_else(pc.is_valid(column), found, None) if test[2] else found
    elif kind == "equals":
        answer = pc.equal(column, pa.scalar(test[2]))
    else:
        function = {"contains": pc.match_substring, "prefix": pc.starts_with, "suffix": pc.ends_with,
                    "like": pc.match_like}[kind]
        answer = function(column, test[2])
    if isinstance(answer, pa.ChunkedArray):
        answer = answer.combine_chunks()
    true = _arrow_bits(pc.fill_null(answer, False))
    return true, _arrow_bits(pc.fill_null(pc.invert(answer), False))


def _arrow_bits(array):
    return int.from_bytes(memoryview(array.buffers()[1]), "little") >> array.offset & (1 << len(array)) - 1
