"""Conditions as SQL writes them: `returnflag = 'R' and quantity < 24`, as conditions on typed columns."""

import datetime
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias, cast

import pyarrow as pa

from bitline.errors import UsageError
from bitline.search.binder import Binder
from bitline.search.condition import AllOf, AnyOf, Condition, Known, Not
from bitline.search.fields import Comparison

#: Conditions within conditions, at most; deeper ones are not written by hand.
_DEPTH_MAX = 100
#: Digits of a number, at most: far more than any type has.
_DIGITS_MAX = 1000

_TOKEN = re.compile(
    r"(?:(?P<text>'(?:[^']|'')*')|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<quoted>\"(?:[^\"]|\"\")+\")|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|<>|!=|==|[=<>(),+-]))"
)
_COMPARISONS: dict[str, Comparison] = {
    **{"=": "==", "==": "==", "<>": "!=", "!=": "!="},
    **{"<": "<", "<=": "<=", ">": ">", ">=": ">="},
}
_SWAPPED: dict[Comparison, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RESERVED = {"and", "or", "not", "in", "is", "null", "between", "like", "true", "false", "escape"}


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Column(NamedTuple):
    name: str


_Operand: TypeAlias = _Column | Any


def condition(text: str, binder: Binder) -> Condition:
    """What a text says of columns.

    Comparisons of a column with a constant or another column, IN, BETWEEN, LIKE, IS NULL, a column of bools,
    and AND, OR and NOT of these. Constants are numbers, 'texts', true, false, null, and `date '2024-01-31'`,
    `timestamp '...'` and `time '...'`; a text stands for a date or time where it is compared with one.

    Raises:
        UsageError: It is no condition on these columns; the message says where.
    """
    parser = _Parser(text, binder)
    found = parser.alternatives(0)
    parser.end()
    return found


class _Parser:
    def __init__(self, text: str, binder: Binder) -> None:
        self._text, self._binder = text, binder
        self._tokens, self._at = _tokens(text), 0

    # Tokens

    def _fail(self, what: str) -> UsageError:
        at = self._tokens[self._at].at
        follows = self._text[at : at + 20]
        told = f"{follows!r} follows" if follows else "it ends here"
        return UsageError(f"condition, at character {at + 1}: {what}; {told}")

    def _column(self, name: str) -> _Column:
        """A column by its name, or what else may have been meant by it."""
        token = self._tokens[self._at - 1]
        if name not in self._binder.types:
            if token.kind == "quoted":
                raise UsageError(
                    f"condition, at character {token.at + 1}: there is no column {name!r}; a text stands in "
                    f"single quotes: '{name}'"
                )
            if self._tokens[self._at].text == "(" and self._tokens[self._at].kind == "sign":
                raise UsageError(
                    f"condition, at character {token.at + 1}: {name}(...) is a function, and functions are "
                    "not supported: compare columns with constants, or ask with an expression of PyArrow"
                )
        return _Column(name)

    def _takes(self, *texts: str) -> bool:
        """Whether these words or signs follow, which are taken then."""
        following = self._tokens[self._at : self._at + len(texts)]
        is_so = [
            token.text.lower() == text and token.kind in ("word", "sign")
            for token, text in zip(following, texts, strict=False)
        ]
        taken = len(following) == len(texts) and all(is_so)
        self._at += len(texts) * taken
        return taken

    def _needs(self, text: str) -> None:
        if not self._takes(text):
            raise self._fail(f"{text.upper()} is missing")

    def end(self) -> None:
        if self._tokens[self._at].kind != "end":
            raise self._fail("AND or OR is missing")

    # Conditions

    def alternatives(self, depth: int) -> Condition:
        return self._chain("or", self._conjunction, AnyOf, depth)

    def _conjunction(self, depth: int) -> Condition:
        return self._chain("and", self._negation, AllOf, depth)

    def _chain(
        self, word: str, inner: Callable[[int], Condition], kind: type[AllOf] | type[AnyOf], depth: int
    ) -> Condition:
        if depth > _DEPTH_MAX:
            raise self._fail(f"more than {_DEPTH_MAX} levels of parentheses")
        found = [inner(depth)]
        while self._takes(word):
            found.append(inner(depth))
        return found[0] if len(found) == 1 else kind(tuple(found))

    def _negation(self, depth: int) -> Condition:
        if self._takes("not"):
            if depth > _DEPTH_MAX:
                raise self._fail(f"more than {_DEPTH_MAX} levels of NOT")
            return Not(self._negation(depth + 1))
        if self._takes("("):
            found = self.alternatives(depth + 1)
            self._needs(")")
            return found
        return self._predicate()

    def _predicate(self) -> Condition:
        left = self._operand()
        token = self._tokens[self._at]
        if token.kind == "sign" and token.text in _COMPARISONS:
            self._at += 1
            return self._comparison(left, _COMPARISONS[token.text], self._operand())
        if not isinstance(left, _Column):
            if left is None or isinstance(left, bool):
                return Known(left)
            raise self._fail("a comparison is missing")
        if self._takes("is"):
            negated = self._takes("not")
            self._needs("null")
            found = self._binder.is_null(left.name)
            return Not(found) if negated else found
        negated = self._takes("not")
        found = self._of_column(left.name, negated)
        return Not(found) if negated else found

    def _of_column(self, column: str, negated: bool) -> Condition:
        if self._takes("in"):
            self._needs("(")
            values = [self._constant(column)]
            while self._takes(","):
                values.append(self._constant(column))
            self._needs(")")
            return self._binder.one_of(column, values)
        if self._takes("between"):
            least = self._constant(column)
            self._needs("and")
            compare = self._binder.compare
            return AllOf((compare(column, ">=", least), compare(column, "<=", self._constant(column))))
        if self._takes("like"):
            if self._tokens[self._at].kind != "text":
                raise self._fail("the form that LIKE asks for, a text, is missing")
            return self._binder.like(column, cast(str, self._operand()))
        if negated or not pa.types.is_boolean(self._binder.kind(column)):
            raise self._fail("a comparison, IN, BETWEEN, LIKE or IS NULL is missing")
        return self._binder.compare(column, "==", True)

    def _comparison(self, left: _Operand, comparison: Comparison, right: _Operand) -> Condition:
        if isinstance(left, _Column) and isinstance(right, _Column):
            return self._binder.columns(left.name, comparison, right.name)
        if isinstance(left, _Column):
            return self._binder.compare(left.name, comparison, self._typed(left.name, right))
        if isinstance(right, _Column):
            swapped = _SWAPPED.get(comparison, comparison)
            return self._binder.compare(right.name, swapped, self._typed(right.name, left))
        raise self._fail("one side of a comparison is a column")

    # Operands

    def _constant(self, column: str) -> Any:  # noqa: ANN401 (a constant)
        found = self._operand()
        if isinstance(found, _Column):
            raise self._fail("a constant is missing")
        return self._typed(column, found)

    def _typed(self, column: str, value: Any) -> Any:  # noqa: ANN401
        """A text as the date or time that it stands for."""
        kind = self._binder.kind(column)
        if isinstance(value, str) and pa.types.is_temporal(kind):
            try:
                return pa.scalar(value).cast(kind)
            except pa.ArrowInvalid:
                raise UsageError(f"column {column!r} is of {kind}, which {value!r} is not") from None
        is_day = isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
        if is_day and pa.types.is_timestamp(kind) and kind.tz is None:
            return datetime.datetime.combine(value, datetime.time())
        return value

    def _operand(self) -> _Operand:
        signs = 0
        while (token := self._tokens[self._at + signs]).kind == "sign" and token.text in "+-":
            signs += 1
        if signs:
            minuses = sum(each.text == "-" for each in self._tokens[self._at : self._at + signs])
            self._at += signs
            number = self._operand()
            if isinstance(number, bool) or not isinstance(number, int | Decimal):
                raise self._fail("a number is missing")
            return -number if minuses % 2 else number
        if token.kind in ("end", "sign") or (
            token.kind == "word" and token.text.lower() in _RESERVED - {"true", "false", "null"}
        ):
            raise self._fail("a column or a constant is missing")
        self._at += 1
        if token.kind == "text":
            return token.text[1:-1].replace("''", "'")
        if token.kind == "number":
            if len(token.text) > _DIGITS_MAX:
                self._at -= 1
                raise self._fail(f"a number of {len(token.text):,} digits, at most {_DIGITS_MAX:,} can be")
            return int(token.text) if token.text.isdigit() else Decimal(token.text)
        if token.kind == "quoted":
            return self._column(token.text[1:-1].replace('""', '"'))
        return self._word(token)

    def _word(self, token: _Token) -> _Operand:
        word = token.text.lower()
        if word in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[word]
        of_text: dict[str, Callable[[str], Any]] = {
            "date": datetime.date.fromisoformat,
            "timestamp": datetime.datetime.fromisoformat,
            "time": datetime.time.fromisoformat,
        }
        if word in of_text and self._tokens[self._at].kind == "text":
            text = cast(str, self._operand())
            try:
                return of_text[word](text)
            except ValueError:
                raise self._fail(f"{text!r} is no {word}") from None
        return self._column(token.text)


def _tokens(text: str) -> list[_Token]:
    found, at = list[_Token](), 0
    end = len(text.rstrip())
    while at < end:
        while text[at].isspace():
            at += 1
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            raise UsageError(
                f"condition, at character {at + 1}: {text[at : at + 20].strip()!r} is not understood"
            )
        found.append(_Token(token.lastgroup, token[token.lastgroup], token.start(token.lastgroup)))
        at = token.end()
    return [*found, _Token("end", "", len(text))]
