//! Traces that are compressed.

use bitline::workload::{TraceError, TraceFormat, TraceOptions, TraceReader};

use crate::{MQSIM, gzip, records};

fn zstd(text: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(text, level)
}

#[test]
fn compressed_traces_are_read_as_they_are() {
    let (first, second) = (MQSIM.as_bytes(), b"3000 0 8 8 1\n".as_slice());
    let whole = [first, second].concat();
    let expected = records(&whole, TraceOptions::default()).1;
    // A skippable frame of three bytes, as parallel compressors write.
    let skippable = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 7, 7, 7];
    let files = [
        gzip(&whole),
        [gzip(first), gzip(second)].concat(),
        zstd(&whole),
        [&zstd(first)[..], &skippable, &zstd(second)].concat(),
    ];
    for file in files {
        assert_eq!(records(&file, TraceOptions::default()).1, expected);
    }
}

#[test]
fn damaged_compression_is_an_error() {
    let text = MQSIM.repeat(10_000);
    for mut file in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        file.truncate(file.len() / 2);
        let options = TraceOptions {
            format: Some(TraceFormat::Mqsim),
            bad_lines_max: u64::MAX,
            ..TraceOptions::default()
        };
        let outcome =
            TraceReader::new(std::io::Cursor::new(file), options).and_then(|mut reader| {
                while reader.next_record()?.is_some() {}
                Ok(())
            });
        assert!(matches!(outcome, Err(TraceError::Io { .. })));
    }
}
