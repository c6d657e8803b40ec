//! Sanitize and Format with search regions: nothing of names and values is left, and no region is told of.

use bitline::Drive;
use bitline::inside::InsideHost;
use host::search::{NameKind, SearchDevice};
use nvme::NamespaceId;
use nvme::command::{AdminCommand, FormatNvm, SecureErase};

use crate::erasure::nothing_is_left;
use crate::remnants::SECRET;
use crate::{drive, host_status};

/// Names of a row: bits of a flash page.
const ROW_NAMES: u32 = 8 * 512;

const KEYS: [(&str, &str); 3] = [
    ("nand.geometry.page_bytes", "512"),
    ("nand.geometry.strings_per_block", "12"),
    ("bits.compute_blocks_percent", "40"),
];

/// Two search regions of the namespace, one with don't cares, and so many entries; all of their bytes are secret. How many
/// regions it has then.
fn fill(drive: &mut Drive, namespace: u32, entries: u32) -> usize {
    let kind = |ternary| NameKind { bits: 64, ternary };
    let filled = drive.run(move |host| async move {
        let block = host.namespace(0, NamespaceId::new(namespace)).await?;
        let search = SearchDevice::new(block);
        let kinds = [kind(false), kind(true)];
        let region = search.allocate(0, ROW_NAMES + 1, 8, &kinds).await?;
        let record: Vec<u8> = [SECRET, SECRET, [u8::MAX; 8], SECRET].concat();
        let mut left = entries;
        while left > 0 {
            let count = left.min(1000);
            let records = record.repeat(count as usize);
            search.append_at_once(&region, &records, count).await?;
            left -= count;
        }
        // Rows are sealed in the background.
        host.sim().sleep(sim::Span::from_us(1_000_000)).await;
        Ok::<_, host::search::SearchError>(search.report().await?.len())
    });
    filled.expect("power").expect("there is room")
}

fn regions(drive: &mut Drive, namespace: u32) -> usize {
    let there = drive.run(move |host| async move {
        let block = host.namespace(0, NamespaceId::new(namespace)).await?;
        Ok::<_, host::search::SearchError>(SearchDevice::new(block).report().await?.len())
    });
    there.expect("power").expect("a report")
}

fn format(drive: &mut Drive, namespace: u32, secure_erase: SecureErase) {
    let formatted = drive.run(move |host| async move {
        let format = AdminCommand::FormatNvm(FormatNvm {
            namespace: NamespaceId::new(namespace),
            format: 0,
            metadata_inline: false,
            protection: 0,
            secure_erase,
        });
        let queue = host.queue(0)?;
        let sent = bitline::inside::send_raw_admin(&queue, format.encode(nvme::CommandId::new(0)));
        sent.await
    });
    let status = host_status(formatted.expect("power").map(|_| ()));
    assert!(status.is(bitline::Status::SUCCESS), "{status}");
}

fn cut(drive: &mut Drive) {
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
}

/// Names of a full row, which flash holds, and of one that is not full, which the journal holds.
const SEALED_AND_NOT: u32 = ROW_NAMES + 100;

#[test]
fn a_sanitized_drive_has_no_names() {
    let mut drive = drive(&KEYS);
    for _ in 0..2 {
        // All of it is there again the second time.
        assert_eq!(fill(&mut drive, 1, SEALED_AND_NOT), 2);
        let counts = drive.statistics().expect("power").search;
        assert!(counts.rows_sealed > 0, "{counts:?}");
        drive.sanitize().expect("it ends");
        assert_eq!(regions(&mut drive, 1), 0);
        nothing_is_left(&mut drive);
        cut(&mut drive);
        assert_eq!(regions(&mut drive, 1), 0);
    }
}

#[test]
fn a_namespace_formatted_with_erase_has_no_names() {
    let namespaces = "[{ share = 0.5, block_bytes = 512 }, { share = 0.5, block_bytes = 512 }]";
    let keys = [&KEYS[..], &[("frontend.namespaces", namespaces)]].concat();
    let mut drive = drive(&keys);
    for _ in 0..2 {
        assert_eq!(fill(&mut drive, 2, SEALED_AND_NOT), 2);
        format(&mut drive, 2, SecureErase::UserData);
        assert_eq!(regions(&mut drive, 2), 0);
        nothing_is_left(&mut drive);
        cut(&mut drive);
        assert_eq!(regions(&mut drive, 2), 0);
    }
}

#[test]
fn a_format_takes_the_regions_of_its_namespace_alone() {
    let namespaces = "[{ share = 0.5, block_bytes = 512 }, { share = 0.5, block_bytes = 512 }]";
    let keys = [&KEYS[..], &[("frontend.namespaces", namespaces)]].concat();
    let mut drive = drive(&keys);
    assert_eq!(fill(&mut drive, 1, 10), 2);
    assert_eq!(fill(&mut drive, 2, 10), 2);
    format(&mut drive, 2, SecureErase::None);
    for _ in 0..2 {
        assert_eq!((regions(&mut drive, 1), regions(&mut drive, 2)), (2, 0));
        cut(&mut drive);
    }
}
