"""Expressions over names of stored vectors, from text to the plain values that workloads have.

`and(months) & ~prices:cheap` is `{"and": [{"all": "months"}, {"not": {"vector": ["prices", "cheap"]}}]}`,
as `Formula` of the Rust crate's `bitline::workload` is in JSON.
"""

from typing import Any, Literal, Self

from bitline.errors import UsageError
from bitline.formula import parse

#: Levels of operators; deeper trees could not be handed over, and nobody writes them.
_DEPTH_MAX = 60

_REDUCTIONS = {"&": "all", "|": "any", "^": "parity"}


class _Tree:
    """A vector, all vectors of a group under an operator, or an operator over trees. Immutable."""

    def __init__(self, key: str, value: Any, depth: int = 0) -> None:  # noqa: ANN401 (a name, a tree or trees)
        if depth > _DEPTH_MAX:
            raise UsageError(f"operators nest {depth} levels deep; at most {_DEPTH_MAX} are taken")
        self._key, self._value, self._depth = key, value, depth

    def __and__(self, other: Self) -> Self:
        return self._with("and", other)

    def __or__(self, other: Self) -> Self:
        return self._with("or", other)

    def __xor__(self, other: Self) -> Self:
        return self._with("xor", other)

    def __invert__(self) -> Self:
        return self._value if self._key == "not" else type(self)("not", self, self._depth + 1)

    def _with(self, key: str, other: Self) -> Self:
        chain = self._value if self._key == key else (self,)
        depth = max(self._depth - (self._key == key), other._depth)
        return type(self)(key, (*chain, other), depth + 1)

    def plain(self) -> dict[str, Any]:
        if self._key == "not":
            return {"not": self._value.plain()}
        if self._key in ("and", "or", "xor"):
            return {self._key: [operand.plain() for operand in self._value]}
        return {self._key: self._value}


def tree(text: str) -> dict[str, Any]:
    """The plain values of an expression in the language of `bitline.formula`.

    Names are `group:vector`; a function takes a group's name for all of its vectors.

    Raises:
        UsageError: It is no expression; the message says where.
    """
    return parse(text, _vector, _group).plain()


def _vector(name: str) -> _Tree:
    group, colon, vector = name.partition(":")
    if not colon:
        raise UsageError(
            f"expression: {name} is the name of a group: {name}:0 is one of its vectors, "
            f"and({name}), or({name}) and xor({name}) combine them all"
        )
    return _Tree("vector", [group, vector])


def _group(operator: Literal["&", "|", "^"], name: str) -> _Tree:
    return _Tree(_REDUCTIONS[operator], name)
