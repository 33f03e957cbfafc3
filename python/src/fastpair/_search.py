"""Tests of rows, as the tuples that the extension takes: (kind, negate, ignore_case, escape, patterns,
children), with the numbers of fastpair_predicate_kind."""

_KINDS = {"equals": 1, "isin": 1, "prefix": 2, "suffix": 3, "contains": 4, "like": 5}
_IS_NULL, ALL_OF, ANY_OF = 6, 7, 8

IS_NULL = (_IS_NULL, False, False, -1, (), ())
# SQL's x IN (): false for every row, null ones included.
_NEVER = (ALL_OF, False, False, -1, (), (IS_NULL, (_IS_NULL, True, False, -1, (), ())))


class Predicate:
    """A test of rows, made by where(). Combine tests with & and |, and turn one around with ~.

    As in SQL, a test of a null row is neither true nor false, unless it is is_null.
    """

    __slots__ = ("_tree",)

    def __init__(self, tree):
        self._tree = tree

    def __and__(self, other):
        return Predicate((ALL_OF, False, False, -1, (), (self._tree, _tree(other))))

    def __or__(self, other):
        return Predicate((ANY_OF, False, False, -1, (), (self._tree, _tree(other))))

    def __invert__(self):
        kind, negate, *rest = self._tree
        return Predicate((kind, not negate, *rest))

    def __repr__(self):
        return f"<fastpair.Predicate {_words(self._tree)}>"


def _words(tree):
    kind, negate, ignore_case, _, patterns, children = tree
    name = {1: "equals", 2: "prefix", 3: "suffix", 4: "contains", 5: "like", 6: "is_null", 7: "all", 8: "any"}[kind]
    inside = ", ".join([p.decode("utf-8", "backslashreplace") for p in patterns] + [_words(c) for c in children])
    return f"{'not ' * negate}{name}({inside}){' ignoring case' * ignore_case}"


def _tree(test):
    if not isinstance(test, Predicate):
        raise TypeError("a test is made with fastpair.where()")
    return test._tree


def _bytes(pattern):
    if isinstance(pattern, str):
        return pattern.encode()
    if isinstance(pattern, (bytes, bytearray, memoryview)):
        return bytes(pattern)
    raise TypeError(f"a pattern is a str or bytes, not {type(pattern).__name__}")


def _patterns(value):
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return (_bytes(value),)
    return tuple(_bytes(pattern) for pattern in value)


def where(*, contains=None, like=None, prefix=None, suffix=None, equals=None, isin=None, is_null=None,
          ignore_case=False, negate=False, escape=None):
    """A test of rows, for Column.match(), filter() and count().

    contains, prefix, suffix, equals   a str or bytes, or several of which one must be met
    like      SQL's LIKE: % stands for anything, _ for one character; `escape` is the character that
              makes the next one stand for itself
    isin      the row is one of these
    is_null   True: the row is null; False: it is not
    Several tests must all be passed.
    """
    given = {"contains": contains, "like": like, "prefix": prefix, "suffix": suffix, "equals": equals, "isin": isin}
    mark = -1 if escape is None else _bytes(escape)
    if mark != -1:
        if len(mark) != 1:
            raise ValueError("escape is one ASCII character")
        mark = mark[0]
    trees = []
    for name, value in given.items():
        if value is not None:
            patterns = _patterns(value)
            trees.append((_KINDS[name], False, bool(ignore_case), mark if name == "like" else -1, patterns, ())
                         if patterns else _NEVER)
    if is_null is not None:
        trees.append((_IS_NULL, not is_null, False, -1, (), ()))
    if not trees:
        raise TypeError("no test was given: contains=, like=, prefix=, suffix=, equals=, isin= or is_null=")
    tree = trees[0] if len(trees) == 1 else (ALL_OF, False, False, -1, (), tuple(trees))
    return ~Predicate(tree) if negate else Predicate(tree)


def predicate(test, tests):
    """The tree of match(test, **tests)."""
    if test is None:
        return where(**tests)._tree
    if tests:
        raise TypeError("give a predicate or tests, not both")
    return _tree(test)
