//! What transactions promise, case by case.

use std::rc::Rc;

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Config, Drive, Host};
use device::ftl::VersionError;
use device::schedule::Origin;
use device::tx::{Extent, File, Isolation, Transaction, Transactions, TxError};

/// Bytes of a logical page.
const PAGE: u32 = 2048;
/// Two pages of one extent and one of another.
const EXTENTS: [Extent; 2] = [
    Extent {
        first: 10,
        pages: 2,
    },
    Extent { first: 4, pages: 1 },
];
const BYTES: u64 = 3 * PAGE as u64;

fn drive(keys: &[(&str, &str)]) -> Drive {
    let small = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.blocks_per_plane", "40"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "8"),
        ("nand.geometry.page_bytes", "2048"),
        ("frontend.block_bytes", "512"),
        ("ftl.gc.threshold_blocks", "3"),
        ("ftl.overprovisioning", "0.4"),
        ("tx.buffer_bytes", "131072"),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    let keys = small.iter().chain(keys).copied();
    Drive::open(preset.with(keys).expect("a legal drive")).expect("a drive in memory")
}

/// What a case works with.
struct Stage {
    host: Host,
    tx: Rc<Transactions>,
}

impl Stage {
    fn file(&self, writable: bool) -> File {
        let file = self.tx.file(EXTENTS.to_vec(), BYTES, writable);
        file.expect("a file of pages that there are")
    }

    async fn begin_with(&self, isolation: Isolation) -> Rc<Transaction> {
        let begun = self
            .tx
            .begin(vec![self.file(true)], isolation, Origin::default());
        begun.await.expect("it begins")
    }

    async fn begin(&self) -> Rc<Transaction> {
        self.begin_with(Isolation::Snapshot).await
    }

    /// The host writes a page of the file, by its number there.
    async fn host_writes(&self, page: u32, byte: u8) {
        let lba = lba_of(page);
        let data = vec![byte; PAGE as usize];
        let written = self.host.block().write(lba, &data);
        written.await.expect("the host writes");
    }

    /// The first byte of each page of the file, as the host sees it.
    async fn host_reads(&self) -> [u8; 3] {
        let mut seen = [0; 3];
        for (page, seen) in (0..).zip(&mut seen) {
            let read = self.host.block().read(lba_of(page), 1).await;
            *seen = read.expect("the host reads")[0];
        }
        seen
    }
}

fn lba_of(page: u32) -> u64 {
    let pages = [10, 11, 4];
    pages[page as usize] * u64::from(PAGE / 512)
}

/// Has a case lived through on a drive.
fn on<F: Future<Output = ()> + 'static>(drive: &mut Drive, case: impl FnOnce(Stage) -> F) {
    let tx = drive.device().expect("power").tx.clone();
    drive
        .run(|host| case(Stage { host, tx }))
        .expect("nothing hangs");
}

async fn write(transaction: &Transaction, page: u32, byte: u8) -> Result<(), TxError> {
    let offset = u64::from(page * PAGE);
    let data = vec![byte; PAGE as usize];
    transaction.write(0, offset, PAGE, Some(&data)).await
}

/// The first byte of each page of the file, as a transaction sees it.
async fn sees(transaction: &Transaction) -> [u8; 3] {
    let all = transaction
        .read(0, 0, BYTES as u32)
        .await
        .expect("it reads");
    [0, 1, 2].map(|page| all[(page * PAGE) as usize])
}

#[test]
fn a_transaction_sees_its_writes_and_others_do_until_it_commits() {
    on(&mut drive(&[]), move |stage| async move {
        stage.host_writes(0, 1).await;
        let (one, other) = (stage.begin().await, stage.begin().await);
        write(&one, 0, 7).await.expect("first");
        write(&one, 2, 8).await.expect("first");
        assert_eq!(sees(&one).await, [7, 0, 8]);
        assert_eq!(
            (sees(&other).await, stage.host_reads().await),
            ([1, 0, 0], [1, 0, 0])
        );
        one.commit().await.expect("nobody else wrote");
        assert_eq!(stage.host_reads().await, [7, 0, 8]);
        assert_eq!(sees(&other).await, [1, 0, 0], "its snapshot is from before");
        other.commit().await.expect("it only read");
        assert_eq!(sees(&*stage.begin().await).await, [7, 0, 8]);
    });
}

#[test]
fn the_first_who_writes_a_page_wins() {
    on(&mut drive(&[]), move |stage| async move {
        let (one, other) = (stage.begin().await, stage.begin().await);
        write(&one, 1, 7).await.expect("first");
        let told = write(&other, 1, 8).await.expect_err("second");
        assert_eq!(
            told,
            TxError::Version(VersionError::Taken(device::ftl::Lpn(11)))
        );
        assert!(told.is_conflict());
        assert_eq!(other.commit().await, Err(TxError::Failed));
        one.commit().await.expect("it was first");
        // Who began before that commit still comes too late; who begins now does not.
        let again = stage.begin().await;
        write(&again, 1, 9).await.expect("nobody else writes");
        again.commit().await.expect("nobody else wrote");
        assert_eq!(stage.host_reads().await, [0, 9, 0]);
    });
}

#[test]
fn what_the_host_writes_meanwhile_is_not_lost() {
    for mode in ["off", "read_write"] {
        on(
            &mut drive(&[("cache.mode", mode)]),
            move |stage| async move {
                stage.host_writes(0, 1).await;
                let (reader, writer) = (stage.begin().await, stage.begin().await);
                write(&writer, 0, 7).await.expect("nobody else yet");
                stage.host_writes(0, 2).await;
                assert_eq!(stage.host_reads().await, [2, 0, 0]);
                assert_eq!(sees(&reader).await, [1, 0, 0]);
                let told = writer.commit().await.expect_err("the host was first");
                assert!(told.is_conflict(), "{told}");
                assert_eq!(stage.host_reads().await, [2, 0, 0]);
                reader.commit().await.expect("it only read");
            },
        );
    }
}

#[test]
fn what_is_rolled_back_leaves_nothing() {
    on(&mut drive(&[]), move |stage| async move {
        stage.host_writes(0, 1).await;
        let rolled_back = stage.begin().await;
        write(&rolled_back, 0, 7).await.expect("first");
        rolled_back.roll_back();
        let dropped = stage.begin().await;
        write(&dropped, 0, 8).await.expect("nobody else");
        drop(dropped);
        let third = stage.begin().await;
        write(&third, 0, 9).await.expect("nobody else");
        assert_eq!(stage.host_reads().await, [1, 0, 0]);
        assert_eq!(
            (stage.tx.counts().rolled_back, stage.tx.counts().begun),
            (2, 3)
        );
    });
}

#[test]
fn parts_of_pages_keep_the_rest() {
    on(&mut drive(&[]), move |stage| async move {
        stage.host_writes(1, 1).await;
        stage.host_writes(2, 2).await;
        let transaction = stage.begin().await;
        // The end of page 1 and the beginning of page 2, which lie in two extents.
        let offset = u64::from(2 * PAGE - 3);
        transaction
            .write(0, offset, 7, Some(&[9; 7]))
            .await
            .expect("it fits");
        let seen = transaction.read(0, offset - 2, 11).await.expect("it reads");
        assert_eq!(seen, [1, 1, 9, 9, 9, 9, 9, 9, 9, 2, 2]);
        transaction.commit().await.expect("nobody else");
        let block = stage.host.block();
        let (end, begin) = (
            block.read(lba_of(1) + 3, 1).await,
            block.read(lba_of(2), 1).await,
        );
        let (end, begin) = (end.expect("it reads"), begin.expect("it reads"));
        assert_eq!(
            (&end[505..], &begin[..6]),
            (&[1, 1, 1, 1, 9, 9, 9][..], &[9, 9, 9, 9, 2, 2][..])
        );
    });
}

#[test]
fn write_skew_is_refused_where_it_is_asked() {
    for (isolation, refused) in [
        (Isolation::Snapshot, false),
        (Isolation::Serializable, true),
    ] {
        on(&mut drive(&[]), move |stage| async move {
            let one = stage.begin_with(isolation).await;
            let other = stage.begin_with(isolation).await;
            assert_eq!((sees(&one).await, sees(&other).await), ([0; 3], [0; 3]));
            write(&one, 0, 1).await.expect("nobody else");
            write(&other, 1, 1).await.expect("nobody else");
            one.commit().await.expect("first");
            let second = other.commit().await;
            assert_eq!(second.is_err(), refused, "{isolation:?}: {second:?}");
        });
    }
}

#[test]
fn a_deallocation_is_a_change_like_any_other() {
    on(&mut drive(&[]), move |stage| async move {
        stage.host_writes(0, 1).await;
        let (reader, writer) = (stage.begin().await, stage.begin().await);
        write(&writer, 0, 7).await.expect("nobody else yet");
        let gone = stage.host.block().deallocate(lba_of(0), 8).await;
        gone.expect("the host deallocates");
        assert_eq!(
            (stage.host_reads().await, sees(&reader).await),
            ([0; 3], [1, 0, 0])
        );
        assert!(writer.commit().await.is_err_and(|told| told.is_conflict()));
    });
}

#[test]
fn without_a_transaction_each_write_counts_at_once() {
    for isolation in [Isolation::File, Isolation::Block] {
        on(&mut drive(&[]), move |stage| async move {
            let task = stage.begin_with(isolation).await;
            write(&task, 0, 7).await.expect("there is space");
            task.write(0, u64::from(PAGE) + 5, 1, Some(&[8]))
                .await
                .expect("there is space");
            assert_eq!(
                (stage.host_reads().await, sees(&task).await),
                ([7, 0, 0], [7, 0, 0])
            );
            task.roll_back();
            assert_eq!(stage.host_reads().await, [7, 0, 0]);
        });
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    on(&mut drive(&[]), move |stage| async move {
        let files = vec![stage.file(false)];
        let reader = stage
            .tx
            .begin(files, Isolation::Snapshot, Origin::default());
        let reader = reader.await.expect("it begins");
        let told = reader
            .write(0, 0, 1, Some(&[1]))
            .await
            .expect_err("read only");
        assert_eq!(told.to_string(), "file 0 was registered to be read only");
        let writer = stage.begin().await;
        let told = writer
            .write(0, BYTES - 1, 2, Some(&[1; 2]))
            .await
            .expect_err("beyond");
        assert_eq!(
            told.to_string(),
            "bytes 6143 to 6145 go beyond the 6144 bytes of file 0"
        );
        let told = writer.read(1, 0, 1).await.expect_err("no such file");
        assert_eq!(told.to_string(), "there is no file 1 in the transaction");
        let writer = stage.begin().await;
        assert_eq!(writer.read(0, BYTES - 1, 5).await.expect("short"), [0]);
        let beyond = writer.read(0, u64::MAX, 5).await.expect("nothing");
        assert!(beyond.is_empty());
    });
}

#[test]
fn who_needs_more_room_than_there_is_is_told_so() {
    // Two entries of pages.
    on(
        &mut drive(&[("tx.delta_bytes", "48")]),
        move |stage| async move {
            let large = stage.begin().await;
            write(&large, 0, 1).await.expect("room for it");
            write(&large, 1, 1).await.expect("room for it");
            let told = write(&large, 2, 1).await.expect_err("no more room");
            assert_eq!(told, TxError::Version(VersionError::Full));
            large.roll_back();
            // What the host changes takes the room of who began first, who then cannot go on.
            stage.host_writes(0, 1).await;
            let old = stage.begin().await;
            for page in 0..3 {
                stage.host_writes(page, 2).await;
            }
            let told = old.read(0, 0, 1).await.expect_err("given up");
            assert_eq!(told, TxError::Version(VersionError::Lost));
        },
    );
}

#[test]
fn who_waits_for_room_goes_on_when_another_ends() {
    let keys = [("tx.delta_bytes", "48"), ("tx.transactions_max", "2")];
    on(&mut drive(&keys), move |stage| async move {
        let first = stage.begin().await;
        write(&first, 0, 1).await.expect("room for it");
        write(&first, 1, 1).await.expect("room for it");
        let second = stage.begin().await;
        let waits = stage
            .host
            .sim()
            .spawn(async move { write(&second, 2, 1).await });
        let third = {
            let (tx, file) = (stage.tx.clone(), stage.file(true));
            let begin = async move {
                tx.begin(vec![file], Isolation::Snapshot, Origin::default())
                    .await
            };
            stage.host.sim().spawn(begin)
        };
        stage.host.sim().sleep(sim::Span::from_us(10_000)).await;
        assert!(!waits.is_finished(), "there are two entries");
        assert!(!third.is_finished(), "two are open");
        first.roll_back();
        waits.await.expect("there is room now");
        third.await.expect("one has ended");
    });
}

#[test]
fn many_rolled_back_ones_leave_no_trace_that_grows() {
    on(
        &mut drive(&[("tx.undone_max", "4")]),
        move |stage| async move {
            for round in 0..40 {
                let transaction = stage.begin().await;
                write(&transaction, round % 3, round as u8)
                    .await
                    .expect("there is space");
                transaction.roll_back();
            }
            assert_eq!(stage.host_reads().await, [0; 3]);
        },
    );
}
