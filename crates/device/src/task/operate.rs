//! The call that has an accelerator compute an operator.

use operators::{Descriptor, Operator, WORDS};
use wasmtime::{Caller, Result};

use super::errno;
use super::hatch::{Answer, Request};
use super::inside::{Call, Inside, Span};

/// Bytes of a descriptor.
const DESCRIPTOR_BYTES: usize = 4 * WORDS;

/// Where the operands of an operator are, and where its result goes.
struct Operands {
    input: Span,
    other: Span,
    bias: Option<Span>,
    output: Span,
}

/// Has an accelerator compute what a descriptor says; the task waits, and its core does not. Refused with ENODEV on a drive without
/// accelerators.
pub(super) async fn operate(from: Caller<'_, Inside>, (at, bytes): (i32, i32)) -> Result<i32> {
    let span = Span::new(at, bytes);
    let mut call = Call::begin("operate", from, DESCRIPTOR_BYTES as u32).await?;
    if !call.inside().has_accelerators {
        return Ok(-errno::ENODEV);
    }
    if span.bytes as usize != DESCRIPTOR_BYTES {
        return Ok(-errno::EINVAL);
    }
    let words = words_of(&call.copy_out(span)?);
    let Some(descriptor) = Descriptor::decode(words) else {
        return Ok(-errno::EINVAL);
    };
    let operator = descriptor.operator;
    if operator.check().is_err() {
        return Ok(-errno::EINVAL);
    }
    let operands = Operands::of(&descriptor, &mut call)?;
    if !operands.are_apart(&operator) {
        return Ok(-errno::EINVAL);
    }
    let request = Request::Operate {
        operator,
        has_bias: operands.bias.is_some(),
    };
    match call.ask(request).await? {
        Answer::Count(tenths) => call.spare(tenths)?,
        Answer::Refused(number) => return Ok(-number),
        _ => {}
    }
    if call.inside().has_data() {
        call.compute(&operator, &operands)?;
    }
    Ok(0)
}

fn words_of(bytes: &[u8]) -> [u32; WORDS] {
    let (chunks, _) = bytes.as_chunks();
    std::array::from_fn(|word| u32::from_le_bytes(chunks[word]))
}

impl Operands {
    /// # Errors
    /// If the task does not have them all.
    fn of(descriptor: &Descriptor, call: &mut Call<'_>) -> Result<Operands> {
        let operator = &descriptor.operator;
        let mut span = |at, bytes| {
            // No memory has more than these.
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            let span = Span { at, bytes };
            call.check(span).map(|()| span)
        };
        Ok(Operands {
            input: span(descriptor.input, operator.input_bytes())?,
            other: match operator.other_bytes() {
                0 => Span { at: 0, bytes: 0 },
                bytes => span(descriptor.other, bytes)?,
            },
            bias: match (descriptor.bias, operator.bias_bytes()) {
                (0, _) | (_, 0) => None,
                (at, bytes) => Some(span(at, bytes)?),
            },
            output: span(descriptor.output, operator.output_bytes())?,
        })
    }

    /// Whether the result goes where no operand is that it must not replace.
    fn are_apart(&self, operator: &Operator) -> bool {
        let output = self.output;
        let is_free = |operand: Span| {
            let replaces = operator.is_in_place() && operand.at == output.at;
            replaces || !operand.overlaps(output)
        };
        let has_bias_apart = self.bias.is_none_or(|bias| !bias.overlaps(output));
        is_free(self.input) && is_free(self.other) && has_bias_apart
    }
}

impl Call<'_> {
    /// Computes an operator within the task's memory.
    fn compute(&mut self, operator: &Operator, operands: &Operands) -> Result<()> {
        let output = operands.output;
        self.with_all(|memory| {
            let mut result = vec![0; output.bytes as usize];
            let bias = operands.bias.map(|bias| &memory[bias.range()]);
            let (input, other) = (operands.input.range(), operands.other.range());
            operators::apply(operator, &memory[input], &memory[other], bias, &mut result);
            memory[output.range()].copy_from_slice(&result);
        })
    }
}
