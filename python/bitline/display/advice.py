"""How advice on groups and inversions is shown."""

from typing import TYPE_CHECKING

from bitline.display.formats import Value, duration, energy, rate
from bitline.display.result import Column, Fact, Result, Table

if TYPE_CHECKING:
    from bitline.advice import Advice, Applied
    from bitline.units import Duration


def summary(advice: "Advice", applied: "tuple[Applied, Duration] | None" = None) -> Result:
    """Senses saved, what each expression costs, and the groups proposed; what applying it moved and took."""
    columns = [
        Column("expression", "Expression"),
        Column("frequency", "Times", rate),
        Column("senses_before", "Senses now"),
        Column("senses", "Senses then"),
        Column("page_transfers_before", "Pages now", rank=1, pair="pages"),
        Column("page_transfers", "Pages then", rank=1, pair="pages"),
        Column("time_before_ns", "Time now", duration),
        Column("time_ns", "Time then", duration),
    ]
    rows: list[dict[str, Value]] = [
        {
            "expression": row.expression,
            "frequency": row.frequency,
            "senses_before": row.senses_before,
            "senses": row.senses,
            "page_transfers_before": row.page_transfers_before,
            "page_transfers": row.page_transfers,
            "time_before_ns": row.time_before.ns,
            "time_ns": row.time.ns,
        }
        for row in advice.expressions
    ]
    groups: list[dict[str, Value]] = [
        {"group": number, "vectors": ", ".join(str(member) for member in members)}
        for number, members in enumerate(advice.groups)
    ]
    again = advice.replacing
    saved = 1 - advice.senses / advice.senses_before if advice.senses_before else 0.0
    facts = {
        "senses_before": Fact("Senses of all, now", advice.senses_before, rate),
        "senses": Fact("  as proposed", advice.senses, rate),
        "saved_percent": Fact("  saved", round(100 * saved, 2), lambda value: f"{value:g} %"),
        "replaced_vectors": Fact("Vectors to be written anew", again.vectors),
        "replacing_time_ns": Fact("  time of that", again.time.ns, duration),
        "replacing_energy_pj": Fact("  energy of that", again.energy.pj, energy),
        "questions_for_time": Fact("  questions that win the time", again.questions_for_time),
        "questions_for_energy": Fact("  questions that win the energy", again.questions_for_energy),
    }
    tables = {
        "expressions": Table(columns, rows),
        "groups": Table(
            [Column("group", "Group"), Column("vectors", "Vectors; ~ is stored inverted")], groups
        ),
    }
    if applied is not None:
        moved, took = applied
        facts["applied_time_ns"] = Fact("  time it took", took.ns, duration)
        tables["moved"] = Table(
            [Column("before", "Vector"), Column("now", "Moved to")],
            [
                {"before": name, "now": f"{vector.group.name}:{vector.name}"}
                for name, vector in moved.vectors.items()
            ],
        )
    return Result("Groups and inversions, now and as proposed", facts, tables)
