//! Lookups of several commands: what they give is of one moment, whatever others change between their commands.

use bitline::Host;
use bitline::inside::host::search::{DataRegion, NameKind, SearchDevice, Wanted};
use bitline::inside::host::{Buffer, Transport};
use bitline::inside::nvme::command::{LookupContinue, Returned, SimpleLookup};
use bitline::inside::nvme::query::{Pattern, Query};
use bitline::inside::nvme::{CommandId, IoCommand, NamespaceId, SearchCommand, Status};
use bitline::inside::sim::Span;
use bitline::inside::{InsideHost, Queue};

use crate::tiny;

const ROW: u32 = 4096;
const NAME_BITS: u32 = 16;
/// Bytes of a record with its number: a value is the name, twice.
const RECORD_BYTES: u32 = 8 + 4;
/// Records that a buffer of the tests has room for.
const AT_ONCE: u32 = 10;
const EVERYTHING: u16 = 0;

type Device = SearchDevice<Queue>;

fn record(name: u16) -> Vec<u8> {
    [name, name, name].map(u16::to_le_bytes).concat()
}

/// Names of which the bits of `mask` are those of `name`.
fn query(region: &DataRegion, name: u16, mask: u16) -> Query {
    let pattern = Pattern::new(NAME_BITS, &name.to_le_bytes(), &mask.to_le_bytes());
    Query::of(region.names[0].region, pattern.expect("a name"))
}

/// Three full rows with the names from 0 on, the first of which is empty again: its numbers are given next.
async fn three_rows(host: &Host) -> (Device, DataRegion) {
    let block = host.namespace(0, NamespaceId::new(1)).await;
    let device = SearchDevice::new(block.expect("it is there"));
    let kind = NameKind {
        bits: NAME_BITS,
        ternary: false,
    };
    let region = device.allocate(0, 3 * ROW, 4, &[kind]).await;
    let region = region.expect("it fits");
    let records: Vec<u8> = (0..3 * ROW as u16).flat_map(record).collect();
    let appended = device.append(&region, &records, 3 * ROW).await;
    appended.expect("it fits");
    let first = query(&region, 0, !(ROW as u16 - 1));
    assert_eq!(device.delete(&region, &first).await, Ok(ROW));
    // Until the row is erased.
    host.sim().sleep(Span::from_us(50_000)).await;
    (device, region)
}

/// Lookups of all entries, command by command.
struct ByHand<'a> {
    device: &'a Device,
    region: &'a DataRegion,
    buffer: Buffer,
}

impl ByHand<'_> {
    fn new<'a>(device: &'a Device, region: &'a DataRegion) -> ByHand<'a> {
        let memory = device.block().transport().memory();
        let buffer = Buffer::new(memory, (AT_ONCE * RECORD_BYTES).into());
        ByHand {
            device,
            region,
            buffer: buffer.expect("host memory has room"),
        }
    }

    /// Sends one; gives the numbers of the entries and the cursor.
    async fn send(&self, command: SearchCommand) -> Result<(Vec<u64>, u32), Status> {
        let entry = IoCommand::Search(command).encode(CommandId::new(0));
        let sent = self.device.block().transport().io(&entry).await;
        let sent = sent.expect("it is answered");
        if !sent.status().is(Status::SUCCESS) {
            return Err(sent.status());
        }
        let bytes = u64::from(sent.dw0.get() * RECORD_BYTES);
        let number = |record: &[u8]| u64::from_le_bytes(record[..8].try_into().expect("eight"));
        let numbers = self.buffer.look(bytes, |records| {
            let records = records.chunks_exact(RECORD_BYTES as usize);
            records.map(number).collect()
        });
        Ok((numbers.expect("it is there"), sent.dw1.get()))
    }

    async fn begin(&self) -> Result<(Vec<u64>, u32), Status> {
        let lookup = SimpleLookup {
            namespace: self.device.block().namespace(),
            region: self.region.names[0].region,
            returned: Returned {
                numbers: true,
                ..Returned::default()
            },
            buffer_bytes: self.buffer.bytes() as u32,
            name: [0; 16],
            mask: [0; 16],
            data: self.buffer.pointer(self.buffer.bytes() as u32),
        };
        self.send(SearchCommand::SimpleLookup(lookup)).await
    }

    async fn go_on(&self, cursor: u32) -> Result<(Vec<u64>, u32), Status> {
        let lookup = LookupContinue {
            namespace: self.device.block().namespace(),
            region: self.region.names[0].region,
            cursor,
            buffer_bytes: self.buffer.bytes() as u32,
            data: self.buffer.pointer(self.buffer.bytes() as u32),
        };
        self.send(SearchCommand::LookupContinue(lookup)).await
    }
}

fn numbers(first: u32) -> Vec<u64> {
    (first..first + AT_ONCE).map(u64::from).collect()
}

#[test]
fn a_lookup_is_over_when_a_name_has_moved_to_where_it_has_been() {
    let done = tiny(&[]).run(|host| async move {
        let (device, region) = three_rows(&host).await;
        let by_hand = ByHand::new(&device, &region);
        let (found, cursor) = by_hand.begin().await.expect("it begins");
        assert_eq!(found, numbers(ROW));
        let (found, cursor) = by_hand.go_on(cursor).await.expect("nothing has changed");
        assert_eq!(found, numbers(ROW + AT_ONCE));

        let moved = 2 * ROW as u16 + 7;
        let name = query(&region, moved, u16::MAX);
        let updated = device.update(&region, Some(&name), &record(moved), 1).await;
        let updated = updated.expect("it fits");
        assert_eq!(
            (updated.first, updated.deleted),
            (0, 1),
            "to a lower number"
        );
        for _ in 0..2 {
            let over = by_hand.go_on(cursor).await;
            assert_eq!(over, Err(Status::CURSOR_EXPIRED));
        }

        let (found, cursor) = by_hand.begin().await.expect("it begins anew");
        assert_eq!(found[..2], [0, u64::from(ROW)]);
        let gone = query(&region, 2 * ROW as u16 + 8, u16::MAX);
        assert_eq!(device.delete(&region, &gone).await, Ok(1));
        assert_eq!(by_hand.go_on(cursor).await, Err(Status::CURSOR_EXPIRED));
    });
    done.expect("the drive serves");
}

#[test]
fn a_lookup_goes_on_beside_appends_other_lookups_and_deletions_of_nothing() {
    let done = tiny(&[]).run(|host| async move {
        let (device, region) = three_rows(&host).await;
        let by_hand = ByHand::new(&device, &region);
        let (_, cursor) = by_hand.begin().await.expect("it begins");
        let appended = device.append(&region, &record(5), 1).await;
        assert_eq!(appended.expect("it fits").first(), 0);
        let none = query(&region, u16::MAX, u16::MAX);
        assert_eq!(device.delete(&region, &none).await, Ok(0));
        let all = query(&region, EVERYTHING, EVERYTHING);
        assert_eq!(device.count(&region, &all).await, Ok(2 * ROW + 1));
        let (found, _) = by_hand.go_on(cursor).await.expect("nothing has gone");
        assert_eq!(found, numbers(ROW + AT_ONCE));
    });
    done.expect("the drive serves");
}

#[test]
fn the_library_gives_each_name_once_whatever_is_updated_meanwhile() {
    let done = tiny(&[]).run(|host| async move {
        let (device, region) = three_rows(&host).await;
        for round in 0..8_u16 {
            let looks = device.clone().beginning_with(u64::from(RECORD_BYTES));
            let all = query(&region, EVERYTHING, EVERYTHING);
            let wanted = Wanted {
                numbers: true,
                pages: false,
            };
            let (updates, of, sim) = (device.clone(), region.clone(), host.sim().clone());
            host.sim().spawn_detached(async move {
                sim.sleep(Span::from_us(40 * u64::from(round))).await;
                let moved = 2 * ROW as u16 + round;
                let name = query(&of, moved, u16::MAX);
                let updated = updates.update(&of, Some(&name), &record(moved), 1).await;
                assert_eq!(updated.expect("it fits").deleted, 1);
            });
            let found = looks.look_up(&region, &all, wanted).await;
            let found = found.expect("it is asked");
            let name = |value: &[u8]| u16::from_le_bytes([value[0], value[1]]);
            let mut names: Vec<u16> = found.iter().map(name).collect();
            names.sort_unstable();
            let expected: Vec<u16> = (ROW as u16..3 * ROW as u16).collect();
            assert_eq!(names.len(), expected.len(), "round {round}");
            assert_eq!(names, expected, "round {round}");
            host.sim().sleep(Span::from_us(20_000)).await;
        }
    });
    done.expect("the drive serves");
}
