//! Every format, as it is written and as it is not.

use std::path::Path;

use bitline::workload::{
    BlkparseAction, RequestKind, TraceError, TraceFormat, TraceOptions, TraceReader,
};
use proptest::prelude::*;

use RequestKind::{Deallocate, Flush, Read as R, Write as W};

use crate::{FIO_2, MQSIM, MSR, record, records};

const ALIBABA: &str = "\
419,W,8792731648,16384,1577808144360767
725,R,59110326272,16384,1577808144360768
";
const BLKPARSE: &str = "\
  8,0    3        1     0.000000000   697  A   W 223490 + 8 <- (8,1) 223427
  8,0    3        2     0.000001829   697  Q   W 223490 + 8 [kjournald]
  8,0    3        3     0.000004191   697  G   W 223490 + 8 [kjournald]
  8,0    3        4     0.000010000   697  D   W 223490 + 8 [kjournald]
  8,16   1        5     0.500000000   698  Q  RA 64 + 16 [cp]
  8,16   1        6     0.600000000   698  Q   D 4096 + 2048 [fstrim]
  8,16   1        7     0.700000000   698  Q  FN [sync]
  8,16   1        8     0.800000000   698  P   N [sync]
CPU0 (8,0):
 Reads Queued:           1,        8KiB	 Writes Queued:           1,        4KiB
";
const FIO_3: &str = "\
fio version 3 iolog
2 nvme0n1 add
872 nvme0n1 open
878 nvme0n1 write 0 16384
888 nvme0n1 datasync 0 0
10001677 nvme0n1 close
";
const CLOUDPHYSICS: &str = "\
version,time,op,size,lbn
1,5633898,2a,512,42932745
1,5633899,28,65536,100
1,5633899,35,0,0
";

#[test]
fn every_format_is_recognized_and_read() {
    let sample = |text: &str| records(text.as_bytes(), TraceOptions::default());
    let (reader, found) = sample(MQSIM);
    assert_eq!(reader.format(), TraceFormat::Mqsim);
    assert_eq!(
        found,
        [
            record(1000, 0, R, 4096, 8192),
            record(2500, 1, W, 12_288, 4096)
        ]
    );
    assert_eq!(reader.devices(), ["0", "3"]);

    let (reader, found) = sample(MSR);
    assert_eq!(reader.format(), TraceFormat::Msr);
    assert_eq!(
        found,
        [
            record(12_816_637_200_306_162_900, 0, R, 7_014_609_920, 24_576),
            record(12_816_637_200_306_163_000, 1, W, 1_331_011_584, 512)
        ]
    );
    assert_eq!(reader.devices(), ["usr,0", "usr,1"]);

    let (reader, found) = sample(ALIBABA);
    assert_eq!(reader.format(), TraceFormat::Alibaba);
    assert_eq!(
        found,
        [
            record(1_577_808_144_360_767_000, 0, W, 8_792_731_648, 16_384),
            record(1_577_808_144_360_768_000, 1, R, 59_110_326_272, 16_384)
        ]
    );

    let (reader, found) = sample(BLKPARSE);
    assert_eq!(reader.format(), TraceFormat::Blkparse);
    assert_eq!(
        found,
        [
            record(1829, 0, W, 223_490 * 512, 4096),
            record(500_000_000, 1, R, 64 * 512, 8192),
            record(600_000_000, 1, Deallocate, 4096 * 512, 2048 * 512),
            record(700_000_000, 1, Flush, 0, 0)
        ]
    );
    assert_eq!(reader.devices(), ["8,0", "8,16"]);

    let (reader, found) = sample(FIO_2);
    assert_eq!(reader.format(), TraceFormat::Fio);
    assert_eq!(
        found,
        [
            record(0, 0, R, 4096, 8192),
            record(250_000, 0, W, 0, 4096),
            record(250_000, 0, Flush, 0, 0),
            record(250_000, 0, Deallocate, 1 << 20, 65_536)
        ]
    );

    let (reader, found) = sample(FIO_3);
    assert_eq!(reader.format(), TraceFormat::Fio);
    assert_eq!(
        found,
        [
            record(878_000, 0, W, 0, 16_384),
            record(888_000, 0, Flush, 0, 0)
        ]
    );

    let (reader, found) = sample(CLOUDPHYSICS);
    assert_eq!(reader.format(), TraceFormat::Cloudphysics);
    let second = 1_000_000_000;
    assert_eq!(
        found,
        [
            record(5_633_898 * second, 0, W, 42_932_745 * 512, 512),
            record(5_633_899 * second, 0, R, 100 * 512, 65_536),
            record(5_633_899 * second, 0, Flush, 0, 0)
        ]
    );
}

#[test]
fn the_event_of_a_blkparse_text_can_be_chosen() {
    let options = TraceOptions {
        blkparse_action: BlkparseAction::Issued,
        ..TraceOptions::default()
    };
    let (_, found) = records(BLKPARSE.as_bytes(), options);
    assert_eq!(found, [record(10_000, 0, W, 223_490 * 512, 4096)]);
}

#[test]
fn marks_line_ends_blank_lines_and_a_missing_last_end_do_not_matter() {
    let dos = MQSIM.replace('\n', "\r\n\r\n");
    let expected = records(MQSIM.as_bytes(), TraceOptions::default()).1;
    let marked = format!("\u{FEFF}{MQSIM}");
    for text in [dos.as_str(), dos.trim_end(), MQSIM.trim_end(), &marked] {
        assert_eq!(
            records(text.as_bytes(), TraceOptions::default()).1,
            expected
        );
    }
}

#[test]
fn bad_lines_are_told_by_number_and_reason() {
    let wrong = [
        ("mqsim", "1 0 8 16", "it has no type"),
        ("mqsim", "1 0 8 16 1 1", "more than 5 fields"),
        ("mqsim", "1 0 8 16 2", "its type must be 0 (write) or 1"),
        ("mqsim", "1 0 8 0 1", "no length"),
        ("mqsim", "x 0 8 16 1", "its time is no number"),
        ("mqsim", "1 0 99999999999999999999 16 1", "its sector is no"),
        ("mqsim", "1 0 36028797018963967 8 1", "its end is out of"),
        (
            "msr",
            "1,usr,0,Trim,0,512,1",
            "its type must be Read or Write: \"1,usr,0,Trim,0,512,1\"",
        ),
        ("alibaba", "1,X,0,512,1", "its opcode must be R or W"),
        (
            "cloudphysics",
            "1,2,zz,512,1",
            "its operation must be the hexadecimal code of a SCSI command",
        ),
        ("blkparse", "8 0 1 0.0 1 Q R 0 + 8 [x]", "it has no device"),
        ("blkparse", "8,0 0 1 0.0 1 Q R 0 8", "no number of sectors"),
    ];
    for (format, line, words) in wrong {
        let good = match format {
            "mqsim" => MQSIM,
            "msr" => MSR,
            "alibaba" => ALIBABA,
            "cloudphysics" => CLOUDPHYSICS,
            _ => BLKPARSE.split("CPU0").next().expect("a beginning"),
        };
        let lines = good.lines().count() as u64;
        let text = format!("{good}{line}\n{}", good.lines().last().expect("a line"));
        let input = std::io::Cursor::new(text.clone().into_bytes());
        let mut reader = TraceReader::new(input, TraceOptions::default()).expect("recognized");
        assert_eq!(reader.format().name(), format);
        let error = loop {
            match reader.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{line:?} was taken for good"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains(words), "{line:?}: {error}");
        assert!(matches!(error, TraceError::Line { line, .. } if line == lines + 1));

        let options = TraceOptions {
            bad_lines_max: u64::MAX,
            ..TraceOptions::default()
        };
        let (reader, found) = records(text.as_bytes(), options);
        let good_ones = records(good.as_bytes(), TraceOptions::default()).1;
        assert!(found.len() > good_ones.len() || format == "blkparse");
        assert_eq!(reader.bad_lines(), 1);
        assert_eq!(reader.first_bad_lines()[0].line, lines + 1);
    }
}

#[test]
fn a_line_without_end_is_one_bad_line() {
    let text = format!("{MQSIM}{}\n{MQSIM}", "7".repeat(300_000));
    let options = TraceOptions {
        bad_lines_max: u64::MAX,
        ..TraceOptions::default()
    };
    let (reader, found) = records(text.as_bytes(), options);
    assert_eq!((found.len(), reader.bad_lines()), (4, 1));
    assert_eq!(reader.first_bad_lines()[0].line, 3);
}

#[test]
fn what_is_no_trace_is_told() {
    for text in ["", "\n \n"] {
        let error = TraceReader::new(text.as_bytes(), TraceOptions::default());
        assert!(matches!(error, Err(TraceError::Empty { .. })));
    }
    for text in ["hello\nworld\n", "\u{0}\u{1}"] {
        let error = TraceReader::new(text.as_bytes(), TraceOptions::default());
        assert!(matches!(error, Err(TraceError::UnknownFormat { .. })));
    }
    let fails = |text: &str, format: TraceFormat| {
        let options = TraceOptions {
            format: Some(format),
            bad_lines_max: u64::MAX,
            ..TraceOptions::default()
        };
        let input = std::io::Cursor::new(text.as_bytes().to_vec());
        TraceReader::new(input, options)
            .and_then(|mut reader| reader.next_record())
            .expect_err("it is no trace")
            .to_string()
    };
    assert_eq!(
        fails(ALIBABA, TraceFormat::Msr),
        "trace: its first lines are not of the format msr, but of alibaba; leave the format out, \
         and it is found out"
    );
    let heading = "version,time,op,size,lbn\n";
    assert_eq!(
        fails(heading, TraceFormat::Cloudphysics),
        "trace: it has no request"
    );
    assert_eq!(
        fails("what\n", TraceFormat::Fio),
        "trace: it has no request (after 1 bad line that was passed over)"
    );
    let error = TraceReader::open(Path::new("/nowhere"), TraceOptions::default());
    assert!(matches!(error, Err(TraceError::Io { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No bytes make a parser panic, whichever the format.
    #[test]
    fn parsers_are_total(
        noise in proptest::collection::vec(any::<u8>(), 0..400),
        fields in proptest::collection::vec("[0-9a-zA-Z.,+ -]{0,24}", 0..12),
    ) {
        let lines = fields.join("\n");
        for format in TraceFormat::ALL {
            for text in [&noise[..], lines.as_bytes()] {
                let heading = if format == TraceFormat::Fio { "fio version 2 iolog\n" } else { "" };
                let text = [heading.as_bytes(), text].concat();
                let options = TraceOptions {
                    format: Some(format),
                    bad_lines_max: u64::MAX,
                    ..TraceOptions::default()
                };
                let mut reader = TraceReader::new(std::io::Cursor::new(text), options);
                while let Ok(Ok(Some(_))) = reader.as_mut().map(|reader| reader.next_record()) {}
            }
        }
    }
}
