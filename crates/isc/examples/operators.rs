//! Computes operators one behind the other, as python/tests/operators.c does: file 0 has of each nine words (kind, type, has a bias, bytes
//! of input, other operand, bias and output, and two that are 0), eight words of its shape, and its operands, each padded to whole words.

use isc::operators::{Descriptor, WORDS};

const HEAD: usize = 17;

fn task() -> Result<(), isc::Error> {
    let file = isc::File(0);
    let mut all = vec![0; file.size()? as usize];
    file.read(&mut all, 0)?;
    let mut rest = &all[..];
    while !rest.is_empty() {
        let (head, operands) = rest.split_at(4 * HEAD);
        let word = |index: usize| {
            let bytes = [0, 1, 2, 3].map(|byte| head[4 * index + byte]);
            u32::from_le_bytes(bytes)
        };
        let sizes = [3, 4, 5, 6].map(|index| word(index) as usize);
        let (input, operands) = operands.split_at(sizes[0].next_multiple_of(4));
        let (other, operands) = operands.split_at(sizes[1].next_multiple_of(4));
        let (bias, operands) = operands.split_at(sizes[2].next_multiple_of(4));
        rest = operands;
        let mut words = [0; WORDS];
        words[..2].copy_from_slice(&[word(0), word(1)]);
        for (index, extent) in words[6..].iter_mut().enumerate() {
            *extent = word(9 + index);
        }
        let operator = Descriptor::decode(words)
            .ok_or(isc::Error::INVALID)?
            .operator;
        let bias = (word(2) == 1).then_some(&bias[..sizes[2]]);
        let mut output = vec![0; sizes[3]];
        isc::operate(
            &operator,
            &input[..sizes[0]],
            &other[..sizes[1]],
            bias,
            &mut output,
        )?;
        isc::put_ret(&0_i32.to_le_bytes())?;
        isc::put_ret(&output)?;
    }
    Ok(())
}
isc::task!(task);
