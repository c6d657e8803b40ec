//! Operators of neural networks: on an accelerator of the drive, or on the task's core, with the same bits.

use operators::{Descriptor, Operator};

use crate::{Error, imports, length};

/// Computes an operator: `other` is the matrix, the kernels or the second of two operands, empty for those that have none. How many bytes
/// each has, [`Operator`] tells; the result goes to `output`.
///
/// # Errors
/// [`Error::INVALID`] if there is no such operator, or operands have other sizes than it says.
pub fn operate(
    operator: &Operator,
    input: &[u8],
    other: &[u8],
    bias: Option<&[u8]>,
    output: &mut [u8],
) -> Result<(), Error> {
    operator.check().map_err(|_| Error::INVALID)?;
    let sizes = [
        (input.len(), operator.input_bytes()),
        (other.len(), operator.other_bytes()),
        (output.len(), operator.output_bytes()),
        (
            bias.map_or(0, <[u8]>::len),
            bias.map_or(0, |_| operator.bias_bytes()),
        ),
    ];
    if sizes.iter().any(|(has, needs)| *has as u64 != *needs) {
        return Err(Error::INVALID);
    }
    let place = |bytes: &[u8]| bytes.as_ptr() as usize as u32;
    let descriptor = Descriptor {
        operator: *operator,
        input: place(input),
        other: place(other),
        bias: bias.map_or(0, place),
        output: place(output),
    };
    let words = descriptor.encode();
    let bytes = length(size_of_val(&words));
    // SAFETY: the words say where operands are that have as many bytes as are looked at, and where there is room for the result, which
    // nobody else looks at until the call is over.
    let given = unsafe { imports::operate(words.as_ptr(), bytes) };
    match Error(-given) {
        Error(0) => Ok(()),
        Error::NO_DEVICE | Error::NOT_OFFERED => {
            operators::apply(operator, input, other, bias, output);
            Ok(())
        }
        error => Err(error),
    }
}
