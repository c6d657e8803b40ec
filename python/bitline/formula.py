"""Expressions in words: `(a & b) | ~c`, `nand(a, b, c)`, `month:0 or month:1`.

Operators, the loosest first; those of one line go from left to right:

- `|`, `or`, and `nor`, its inverse;
- `^`, `xor`, and `xnor`, its inverse;
- `&`, `and`, and `nand`, its inverse;
- `~`, `!`, `not` before an operand;
- parentheses, and every operator but NOT as a function of one operand or more: `nand(a, b, c)`.

A name is of letters, digits and `_` and does not begin with a digit; `group:vector` is a name, too, where
either may be a number, and so is anything in double quotes: `"my group:1st"`. Where groups are known, a
function takes their names for all of their vectors:
`and(months)`. The text is parsed here and never run as Python.
"""

import re
from collections.abc import Callable
from functools import reduce
from operator import and_, or_, xor
from typing import Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

from bitline.errors import UsageError
from bitline.units import quoted

#: Parentheses, functions and NOTs in each other; more than the operators of an evaluated expression may nest.
_NESTING_MAX = 80

_TOKEN = re.compile(
    r"\s*(?:(?P<name>(?:[A-Za-z_]\w*)(?::\w+)?|\d+:\w+)|\"(?P<quoted>[^\"]+)\"|(?P<sign>[&|^~!(),])|(?P<other>\S))",
    re.ASCII,
)


class Operand(Protocol):
    """What operators combine: expressions over vectors, or formulas."""

    def __and__(self, other: Self) -> Self: ...
    def __or__(self, other: Self) -> Self: ...
    def __xor__(self, other: Self) -> Self: ...
    def __invert__(self) -> Self: ...


T = TypeVar("T", bound=Operand)

_Combine = Callable[..., Any]


def _folded(operator: _Combine) -> _Combine:
    return lambda *operands: reduce(operator, operands)


def _inverted(operator: _Combine) -> _Combine:
    return lambda *operands: ~reduce(operator, operands)


#: What needs no quotes.
_BARE = re.compile(r"[A-Za-z_]\w*(?::\w+)?|\d+:\w+", re.ASCII)

#: Infix operators, loosest first: those of one line may be mixed, and go from left to right.
_LEVELS: tuple[dict[str, _Combine], ...] = (
    {"|": _folded(or_), "or": _folded(or_), "nor": _inverted(or_)},
    {"^": _folded(xor), "xor": _folded(xor), "xnor": _inverted(xor)},
    {"&": _folded(and_), "and": _folded(and_), "nand": _inverted(and_)},
)
_NOT = ("~", "!", "not")
#: What a function does with all vectors of a group, before it inverts the result or not.
_MEMBERS: dict[str, Literal["&", "|", "^"]] = {
    "and": "&", "nand": "&", "or": "|", "nor": "|", "xor": "^", "xnor": "^"
}  # fmt: skip
_FUNCTIONS = {name: combine for level in _LEVELS for name, combine in level.items() if name.isalpha()}
_WORDS = {*_FUNCTIONS, "not"}
#: Of three operands each could mean two things.
_INVERTING = ("nand", "nor", "xnor")


class _Token(NamedTuple):
    text: str
    column: int
    is_name: bool


def written(name: str) -> str:
    """A name as expressions have it, in quotes if it needs them; one that has some cannot be written."""
    return name if _BARE.fullmatch(name) and name not in _WORDS else f'"{name}"'


def names(text: str) -> list[str]:
    """The distinct names in an expression, in the order in which they first appear.

    Raises:
        UsageError: A sign that no expression has.
    """
    return list(dict.fromkeys(token.text for token in _tokens(text) if token.is_name))


def parse(
    text: str, vector: Callable[[str], T], group: Callable[[Literal["&", "|", "^"], str], T] | None = None
) -> T:
    """The expression that `text` is.

    Args:
        text: The expression.
        vector: Gives what a name stands for: a vector, or a `bitline.Formula`.
        group: Gives what all vectors of a group come to under an operator; a name without `:` that stands
            alone in a function is that of a group then.

    Raises:
        UsageError: It is none: the message quotes the place and says what would be right. Or what `vector`
            raises, or the operators of what it gives.
    """
    return _Parser(text, vector, group).whole()


def _tokens(text: str) -> list[_Token]:
    found = []
    for match in _TOKEN.finditer(text):
        word, other = match["name"] or match["quoted"] or match["sign"], match["other"]
        column = match.start(match.lastgroup or 0)
        if other:
            raise UsageError(
                f"{_place(text, column)}: {other!r} is in no expression; operators are & | ^ ~ and "
                "and, or, xor, not, nand, nor, xnor; names are as month_3, colours:3, 0:3 or, in quotes, "
                '"any group:any name"'
            )
        is_name = match["quoted"] is not None or (match["name"] is not None and word not in _WORDS)
        found.append(_Token(word, column, is_name))
    return found


def _place(text: str, column: int) -> str:
    """Where something is wrong, in words."""
    rest = text[column : column + 20]
    where = f"at {rest!r} (column {column + 1})" if rest else "at its end"
    return f"expression {quoted(repr(text))}, {where}"


class _Parser(Generic[T]):
    def __init__(
        self,
        text: str,
        vector: Callable[[str], T],
        group: Callable[[Literal["&", "|", "^"], str], T] | None,
    ) -> None:
        self._text = text
        self._vector = vector
        self._group = group
        self._tokens = _tokens(text)
        self._at = 0
        self._nesting = 0

    def whole(self) -> T:
        expression = self._level(0)
        if self._next() is not None:
            raise self._error("expected an operator or the end")
        return expression

    def _level(self, level: int) -> T:
        if level == len(_LEVELS):
            return self._operand()
        operators = _LEVELS[level]
        expression = self._level(level + 1)
        before = ""
        while (token := self._next()) is not None and token.text in operators:
            if token.text == before and before in _INVERTING:
                raise self._error(
                    f"{before} after {before} could mean two things; use parentheses, or "
                    f"{before}(a, b, c) for the inverse over all operands"
                )
            before = token.text
            self._at += 1
            expression = operators[before](expression, self._level(level + 1))
        return expression

    def _operand(self) -> T:
        token = self._next()
        if token is None:
            raise self._error("expected a name, ( or ~")
        if token.is_name:
            self._at += 1
            return self._vector(token.text)
        if token.text in _NOT:
            self._at += 1
            return ~self._nested(self._operand)
        if token.text in _FUNCTIONS:
            self._at += 1
            return self._nested(lambda: self._function(token.text))
        if token.text == "(":
            return self._nested(lambda: self._list()[0])
        raise self._error("expected a name, ( or ~")

    def _function(self, name: str) -> T:
        token = self._next()
        if token is None or token.text != "(":
            raise self._error(f"expected an operand before {name}, or ( after it")
        combined: T = _FUNCTIONS[name](*self._list(name))
        return combined

    def _list(self, function: str | None = None) -> list[T]:
        """Operands in parentheses, as many as are given to a function, or one."""
        self._at += 1
        found = [self._item(function)]
        while (token := self._next()) is not None and token.text == "," and function:
            self._at += 1
            found.append(self._item(function))
        if token is None or token.text != ")":
            raise self._error(
                "expected an operator, a comma or )" if function else "expected an operator or )"
            )
        self._at += 1
        return found

    def _item(self, function: str | None) -> T:
        """An operand of a function, or of parentheses; a group stands for all of its vectors."""
        token, after = self._next(), self._next(1)
        alone = after is None or after.text in (",", ")")
        if self._group and function and token and token.is_name and ":" not in token.text and alone:
            self._at += 1
            return self._group(_MEMBERS[function], token.text)
        return self._level(0)

    def _nested(self, parse: Callable[[], T]) -> T:
        self._nesting += 1
        if self._nesting > _NESTING_MAX:
            raise self._error(f"at most {_NESTING_MAX} levels may nest")
        expression = parse()
        self._nesting -= 1
        return expression

    def _next(self, ahead: int = 0) -> _Token | None:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def _error(self, message: str) -> UsageError:
        token = self._next()
        column = len(self._text) if token is None else token.column
        return UsageError(f"{_place(self._text, column)}: {message}")
