"""Expressions as trees that share their parts, so that an operator costs the same however long they are.

A chain of one operator (`a & b & c`) counts as one operator with many operands, which is what it becomes
when the drive is asked; twice `~` is nothing.
"""

from collections.abc import Mapping
from typing import Literal, Self

from bitline._bitline import Expression
from bitline.errors import UsageError
from bitline.formula import written

#: The most that a command takes (`MAX_DEPTH`, `MAX_OPERANDS` and `MAX_OPERATORS` of the crate `nvme`).
DEPTH_MAX = 64
OPERANDS_MAX = 4096
OPERATORS_MAX = 4096


class Node:
    """A vector, or an operator over nodes. Immutable, and within the limits of a command.

    Raises:
        UsageError: There would be too many operands or operators, or they would nest too deep.
    """

    __slots__ = ("_operands", "_vector", "_word", "depth", "operand_count", "operator", "operator_count")

    def __init__(
        self,
        operator: Literal["&", "|", "^", "~"] | None,
        operands: tuple["Node", ...] = (),
        vector: tuple[int, int] = (0, 0),
        word: str = "",
    ) -> None:
        self.operator = operator
        self._operands = operands
        self._vector = vector
        self._word = word
        # An operand that is a chain of the same operator joins this one.
        joined = [operator != "~" and operand.operator == operator for operand in operands]
        depths = [operand.depth + (not join) for operand, join in zip(operands, joined, strict=True)]
        operators = sum(operand.operator_count for operand in operands)
        self.depth: int = max(depths, default=0)
        """How deep operators nest; 0 for a vector."""
        self.operand_count: int = sum(operand.operand_count for operand in operands) or 1
        """Vectors named, each as often as it is."""
        self.operator_count: int = operators - sum(joined) + bool(operands)
        """Operators, a chain being one."""
        for count, most, what in (
            (self.depth, DEPTH_MAX, "levels of operators in each other"),
            (self.operand_count, OPERANDS_MAX, "operands"),
            (self.operator_count, OPERATORS_MAX, "operators"),
        ):
            if count > most:
                raise UsageError(
                    f"an expression has at most {most} {what}, this would have {count}; "
                    "read a part of it, write that as a vector, and go on with it"
                )

    @classmethod
    def of_vector(cls, vector: tuple[int, int], word: str) -> Self:
        """A stored vector: what it is called by the drive, and by people."""
        return cls(None, vector=vector, word=word)

    def inverted(self) -> "Node":
        """Its complement."""
        return self._operands[0] if self.operator == "~" else Node("~", (self,))

    def code(self) -> Expression:
        """What the drive understands."""
        return self._code({})

    def _code(self, known: dict["Node", Expression]) -> Expression:
        # As deep as DEPTH_MAX at most. Parts in several places are made once.
        code = known.get(self)
        if code is None:
            if self.operator is None:
                code = Expression(*self._vector)
            elif self.operator == "~":
                code = ~self._operands[0]._code(known)
            else:
                code = Expression.combine(self.operator, [node._code(known) for node in self._chain()])
            known[self] = code
        return code

    def words(self) -> str:
        """What it is in words, which can be parsed: infix, operators inside others in parentheses but `!`."""
        return self._words(nested=False)

    def _words(self, *, nested: bool) -> str:
        if self.operator is None:
            return written(self._word)
        if self.operator == "~":
            return f"!{self._operands[0]._words(nested=True)}"
        words = f" {self.operator} ".join(node._words(nested=True) for node in self._chain())
        return f"({words})" if nested else words

    def labels(self) -> dict[tuple[int, int], str]:
        """The words of the distinct vectors, by what the drive calls them, ascending."""
        found: dict[tuple[int, int], str] = {}
        seen: set[int] = set()
        pending: list[Node] = [self]
        while pending:
            node = pending.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if node.operator is None:
                found[node._vector] = node._word
            pending.extend(node._operands)
        return dict(sorted(found.items()))

    def moved(self, vectors: Mapping[tuple[int, int], tuple[tuple[int, int], str]]) -> "Node":
        """The same over vectors of which some are called otherwise by now, by the drive and by people."""
        # Chains are as long as they are deep.
        known: dict[int, Node] = {}
        pending = [self]
        while pending:
            node = pending[-1]
            unknown = [operand for operand in node._operands if id(operand) not in known]
            if unknown:
                pending += unknown
                continue
            pending.pop()
            if node.operator is None:
                known[id(node)] = Node.of_vector(*vectors.get(node._vector, (node._vector, node._word)))
            else:
                known[id(node)] = Node(node.operator, tuple(known[id(operand)] for operand in node._operands))
        return known[id(self)]

    def _chain(self) -> list["Node"]:
        """The operands of the whole chain of this operator, in order."""
        found, pending = [], [*reversed(self._operands)]
        while pending:
            node = pending.pop()
            if node.operator == self.operator:
                pending.extend(reversed(node._operands))
            else:
                found.append(node)
        return found
