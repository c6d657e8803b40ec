//! Plans in words: an indented tree of the controller's work, the computations' commands below it.

use std::fmt::{self, Display, Formatter};

use media::nand::{Iscm, WordlineBitmap};

use super::{Computation, Plan, Sense, Slot, Source, Step};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (senses, pages) = (self.senses(), self.page_transfers());
        let s = |count: usize| if count == 1 { "" } else { "s" };
        writeln!(
            f,
            "{}: {senses} sense{} and {pages} page transfer{} per chunk",
            self.engine,
            s(senses),
            s(pages)
        )?;
        self.write_source(f, &self.root, 1)
    }
}

impl Plan {
    fn write_source(&self, f: &mut Formatter<'_>, source: &Source, depth: usize) -> fmt::Result {
        write!(f, "{:1$}", "", 2 * depth)?;
        let (name, operands) = match source {
            Source::Constant(value) => return writeln!(f, "controller: all {}", u8::from(*value)),
            Source::Array(index) => {
                writeln!(f, "page {index}")?;
                return write_computation(f, &self.computations[*index], depth + 1);
            }
            Source::Not(inner) => ("NOT", std::slice::from_ref(&**inner)),
            Source::And(operands) => ("AND", &operands[..]),
            Source::Or(operands) => ("OR", &operands[..]),
            Source::Xor(operands) => ("XOR", &operands[..]),
        };
        writeln!(f, "controller: {name}")?;
        operands
            .iter()
            .try_for_each(|operand| self.write_source(f, operand, depth + 1))
    }
}

fn write_computation(
    f: &mut Formatter<'_>,
    computation: &Computation,
    depth: usize,
) -> fmt::Result {
    for step in &computation.steps {
        writeln!(f, "{:1$}{step}", "", 2 * depth)?;
    }
    Ok(())
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Step::Sense(sense) => sense.fmt(f),
            Step::Xor => f.write_str("C ^= S"),
        }
    }
}

impl Display for Sense {
    /// As the latches see it, such as `C = 0; S = !(string 0[0-2] | string 1[5]); C |= S`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Iscm {
            inverse,
            init_s,
            init_c,
            transfer,
        } = self.iscm;
        if init_c {
            write!(f, "C = 0; ")?;
        }
        match (inverse, init_s) {
            (true, _) => write!(f, "S = !(")?,
            (false, true) => write!(f, "S = (")?,
            (false, false) => write!(f, "S &= (")?,
        }
        for (i, slot) in self.slots.iter().enumerate() {
            write!(f, "{}{slot}", if i > 0 { " | " } else { "" })?;
        }
        write!(f, "){}", if transfer { "; C |= S" } else { "" })
    }
}

impl Display for Slot {
    /// `string n[layers]`: the AND of those wordlines.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.row_set.operand().is_some() {
            return write!(f, "{}", self.row_set);
        }
        write!(f, "{}[", self.row_set)?;
        write_layers(f, self.wordlines)?;
        write!(f, "]")
    }
}

/// Layers in ascending order, such as `0-2,7`.
fn write_layers(f: &mut Formatter<'_>, wordlines: WordlineBitmap) -> fmt::Result {
    let layers: Vec<u32> = wordlines.iter().collect();
    for (i, run) in layers.chunk_by(|a, b| a + 1 == *b).enumerate() {
        let comma = if i > 0 { "," } else { "" };
        match run {
            [only] => write!(f, "{comma}{only}")?,
            [first, .., last] => write!(f, "{comma}{first}-{last}")?,
            [] => unreachable!("chunk_by yields no empty run"),
        }
    }
    Ok(())
}
