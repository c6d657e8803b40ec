"""Expressions over plain names: what will be asked, before there is a drive to ask.

```python
months = bitline.symbols.parse("jan | feb | mar")
cheap = bitline.Formula.name("cheap")
print(months & ~cheap)
```
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NoReturn

from bitline import formula
from bitline._bitline import Expression
from bitline.expression import Node


class Formula:
    """A bitwise expression over names: `&`, `|`, `^` and `~` build it. Immutable."""

    __slots__ = ("_operands", "_operator", "_text")

    def __init__(
        self, operator: Literal["&", "|", "^", "~"] | None, operands: Sequence["Formula"], text: str = ""
    ) -> None:
        self._operator = operator
        self._operands = tuple(operands)
        self._text = text

    @classmethod
    def name(cls, name: str) -> "Formula":
        """The vector of a name."""
        return cls(None, (), name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which they first come."""
        if self._operator is None:
            return (self._text,)
        return tuple(dict.fromkeys(name for operand in self._operands for name in operand.names))

    def __and__(self, other: "Formula") -> "Formula":
        return self._with("&", other)

    def __or__(self, other: "Formula") -> "Formula":
        return self._with("|", other)

    def __xor__(self, other: "Formula") -> "Formula":
        return self._with("^", other)

    def __invert__(self) -> "Formula":
        return Formula("~", (self,))

    def __bool__(self) -> NoReturn:
        raise TypeError("a formula has no truth value: combine formulas with & | ^ ~")

    def __str__(self) -> str:
        words = self._in_words()
        return words if self._operator in (None, "~") else words[1:-1]

    def __repr__(self) -> str:
        return f"<Formula {self}>"

    def code(self, numbers: Mapping[str, int]) -> Expression:
        """What the planner understands: each name is the vector of its number, in group 0."""
        return self._node(numbers).code()

    def _node(self, numbers: Mapping[str, int]) -> Node:
        if self._operator is None:
            return Node.of_vector((0, numbers[self._text]), self._text)
        operands = tuple(operand._node(numbers) for operand in self._operands)
        return operands[0].inverted() if self._operator == "~" else Node(self._operator, operands)

    def _in_words(self) -> str:
        if self._operator is None:
            return formula.written(self._text)
        words = [operand._in_words() for operand in self._operands]
        return f"~{words[0]}" if self._operator == "~" else f"({f' {self._operator} '.join(words)})"

    def _with(self, operator: Literal["&", "|", "^"], other: "Formula") -> "Formula":
        if not isinstance(other, Formula):
            raise TypeError(f"a formula does not combine with a {type(other).__name__}")
        chain = self._operands if self._operator == operator else (self,)
        return Formula(operator, (*chain, other))


def parse(text: str) -> Formula:
    """The formula that a text is, in the language of `bitline.formula`.

    Raises:
        UsageError: It is none; the message says where.
    """
    return formula.parse(text, Formula.name)
