//! Streams and collectors, beside transactions and the host: a stream is a transaction, and a page that a collector writes is a
//! write of a client of its own.

use std::cell::RefCell;
use std::rc::Rc;

use bitline::Host;
use bitline::inside::InsideHost;
use device::port::Wiring;
use device::schedule::Origin;
use device::stream::collect::{Arrival, CollectRequest};
use device::stream::{CollectorId, Collectors};
use device::task::Data;
use device::tx::{Extent, Isolation};
use host::streams::{Fetched, Shape, StreamDevice};
use host::tasks::{Loading, TaskDevice, TaskError};
use nvme::collector::Policy;
use nvme::task::{Ended, File, Limits, Outcome as Told, Request};
use nvme::{Lba, NamespaceId};
use sim::{Random, Span};

use crate::history::{Kind, Outcome};
use crate::life::{COLLECTED, PAGES, QUARTERS, Scene, content};

/// Bytes that are fetched at a time: what becomes of a stream, and what it returns, fits.
const FETCHED: u32 = 128 << 10;
/// More than the file has.
const RETURNED: u32 = 96 << 10;

/// Returns its first file as it sees it, if the host feeds it, and emits what comes.
const PROGRAM: &str = r#"(module
  (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
  (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
  (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
  (import "isc" "args_size" (func $args_size (result i32)))
  (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
  (memory (export "memory") 4 4)
  (func (export "isc_main") (result i32) (local $bytes i32)
    (if (call $args_size) (then
      (local.set $bytes (i32.wrap_i64
        (call $file_read (i32.const 0) (i32.const 131072) (i32.const 98304) (i64.const 0))))
      (if (i32.lt_s (local.get $bytes) (i32.const 0)) (then (return (i32.const 1))))
      (drop (call $put_ret (i32.const 131072) (local.get $bytes)))))
    (loop $pieces
      (local.set $bytes (i32.wrap_i64
        (call $next (i32.const 1024) (i32.const 65536) (i32.const 0))))
      (if (i32.gt_s (local.get $bytes) (i32.const 0)) (then
        (drop (call $emit (i32.const 1024) (local.get $bytes)))
        (br $pieces))))
    (i32.const 0)))"#;

/// Loads the program of all streams; its index.
pub async fn load(host: Host) -> Result<u16, TaskError> {
    let module = wat::parse_str(PROGRAM).expect("a module");
    let device = TaskDevice::new(host.block().clone());
    let loading = Loading {
        index: Some(1),
        ..Loading::default()
    };
    // Of an earlier round, if the power was not cut.
    let _ = device.unload(1).await;
    let index = device.load(&module, loading).await?;
    device.activate(index).await?;
    Ok(index)
}

fn request(scene: &Scene, writable: bool, arguments: &[u8]) -> Request {
    let blocks = u64::from(scene.page_bytes / scene.host.block().block_bytes());
    let mut extents: Vec<nvme::task::Extent> = Vec::new();
    for page in PAGES.map(u64::from) {
        match extents.last_mut() {
            Some(last) if last.first.get() + last.blocks == page * blocks => last.blocks += blocks,
            _ => extents.push(nvme::task::Extent {
                first: Lba::new(page * blocks),
                blocks,
            }),
        }
    }
    Request {
        identifier: 0,
        isolation: match scene.isolation {
            Isolation::Serializable => nvme::task::Isolation::Serializable,
            _ => nvme::task::Isolation::Snapshot,
        },
        retries: 0,
        limits: Limits {
            return_bytes: RETURNED,
            ..Limits::default()
        },
        files: vec![File {
            bytes: u64::from(scene.page_bytes) * PAGES.len() as u64,
            writable,
            extents,
        }],
        stores: Vec::new(),
        arguments: arguments.to_vec(),
    }
}

fn end(scene: &Scene, node: usize, told: Option<&Told>) {
    let is_committed = told.is_some_and(|told| told.ended == Ended::Committed);
    scene.log.with(node, |node| {
        node.ended.0 = node.ended.0.min(scene.log.tick());
        node.ended.1 = scene.log.tick();
        node.outcome = match is_committed {
            true => Outcome::Committed,
            false => Outcome::RolledBack,
        };
    });
}

/// A stream reads the whole file, and the host what it emits.
pub async fn read(scene: Scene, program: u16) {
    let node = scene.log.begin(Kind::Transaction);
    let device = StreamDevice::new(scene.host.block().clone());
    let shape = Shape {
        input: Some(0),
        piece_bytes: scene.page_bytes,
        ..Shape::default()
    };
    let mut emitted = Vec::new();
    let mut told = None;
    if let Ok(stream) = device
        .open(program, &request(&scene, false, &[]), shape)
        .await
    {
        loop {
            let fetched = device.read(stream, FETCHED).await;
            scene.log.with(node, |node| {
                node.began.1 = node.began.1.min(scene.log.tick())
            });
            match fetched {
                Ok(Fetched::Data(data)) => emitted.extend(data),
                Ok(Fetched::Over(outcome)) => {
                    told = Some(outcome);
                    break;
                }
                Err(_) => break,
            }
        }
        // It may be gone already.
        let _ = device.close(stream).await;
    }
    if told
        .as_ref()
        .is_some_and(|told| told.ended == Ended::Committed)
    {
        if emitted.len() != scene.page_bytes as usize * PAGES.len() {
            scene
                .log
                .tell(format!("a stream emits {} bytes", emitted.len()));
        }
        scene.saw(node, (PAGES[0], 0), &emitted);
    }
    end(&scene, node, told.as_ref());
}

/// What the host sends goes through a stream into the first part of the file, which the program has read before.
pub async fn write(scene: Scene, program: u16, mut random: Random) {
    let node = scene.log.begin(Kind::Transaction);
    let quarters = 1 + random.below(PAGES.len() as u64 * u64::from(QUARTERS)) as u32;
    let mut bytes = Vec::new();
    let mut values = Vec::new();
    for number in 0..quarters {
        let value = scene.log.next_value();
        values.push((
            (PAGES[(number / QUARTERS) as usize], number % QUARTERS),
            value,
        ));
        bytes.extend(content(value, scene.quarter() as usize));
    }
    let device = StreamDevice::new(scene.host.block().clone());
    let shape = Shape {
        output: Some(0),
        piece_bytes: 512 * (1 + random.below(8) as u32),
        elements: 1,
        ..Shape::default()
    };
    let Ok(stream) = device
        .open(program, &request(&scene, true, &[1]), shape)
        .await
    else {
        return end(&scene, node, None);
    };
    let (first, rest) = bytes.split_at(random.below(bytes.len() as u64) as usize);
    let mut told = None;
    if device.write(stream, first, false).await.is_ok() {
        // Whoever sees them sees what was on its way from now on.
        scene.log.with(node, |node| {
            node.ended.0 = scene.log.tick();
            node.writes.extend(values.iter().copied());
        });
        if device.write(stream, rest, true).await.is_ok()
            && let Ok(Fetched::Over(outcome)) = device.read(stream, FETCHED).await
        {
            told = Some(outcome);
        }
    }
    if let Some(told) = &told
        && told.ended == Ended::Committed
    {
        // It saw the file before it wrote.
        let written = scene
            .log
            .with(node, |node| std::mem::take(&mut node.writes));
        scene.saw(node, (PAGES[0], 0), &told.value);
        scene.log.with(node, |node| node.writes = written);
    }
    end(&scene, node, told.as_ref());
    // It may be gone already.
    let _ = device.close(stream).await;
}

/// What a collector sends in a round, a node for each page.
#[derive(Clone)]
pub struct Collection {
    scene: Scene,
    nodes: Rc<RefCell<Vec<usize>>>,
}

const PORT: u32 = 0;

fn id() -> CollectorId {
    CollectorId {
        namespace: NamespaceId::new(1),
        port: PORT,
    }
}

impl Collection {
    pub fn new(scene: &Scene) -> Collection {
        Collection {
            scene: scene.clone(),
            nodes: Rc::default(),
        }
    }

    /// A collector writes its pages, one after the other.
    pub async fn send(self, mut random: Random) {
        let Scene {
            log,
            tx,
            collectors,
            page_bytes,
            ..
        } = &self.scene;
        let wiring = Wiring {
            bytes_per_second: 1_000_000_000,
            packet_bytes: 1500,
            overhead_bytes: 38,
        };
        collectors.plug(PORT, wiring).expect("there is a port");
        let (first, pages) = COLLECTED;
        let bytes = u64::from(*page_bytes) * u64::from(pages);
        let file = tx
            .file(vec![Extent { first, pages }], bytes, true)
            .expect("a file");
        let asked = CollectRequest {
            identifier: 1,
            file: Some(file),
            policy: Policy::Stall,
            share_bytes: 0,
            low_bytes: 0,
            goes_on: false,
        };
        if collectors
            .open(id(), asked, Origin::default())
            .await
            .is_err()
        {
            return;
        }
        for page in first..first + 1 + random.below(pages.into()) as u32 {
            let node = log.begin(Kind::Host);
            log.with(node, |node| {
                (node.began.1, node.ended.0) = (u64::MAX, node.began.0)
            });
            self.nodes.borrow_mut().push(node);
            for quarter in 0..QUARTERS {
                let value = log.next_value();
                log.writes(node, (page, quarter), value);
                let packet = content(value, self.scene.quarter() as usize);
                let arrival = collectors.deliver(PORT, Data::Bytes(packet)).await;
                assert_eq!(arrival, Arrival::Taken);
                let pause = Span::from_us(random.below(300));
                self.scene.host.sim().sleep(pause).await;
            }
        }
        let closed = collectors.close(id()).await;
        if let Ok(collected) = closed {
            self.committed(collected.bytes);
        }
    }

    /// After a power cut, what the drive tells of it is there.
    pub fn told(&self, collectors: &Collectors) {
        let records = collectors.list(NamespaceId::new(1));
        let record = records.iter().find(|record| record.port.get() == PORT);
        self.committed(record.map_or(0, |record| record.bytes.get()));
    }

    fn committed(&self, bytes: u64) {
        let pages = bytes / u64::from(self.scene.page_bytes);
        let log = &self.scene.log;
        for node in self.nodes.borrow().iter().take(pages as usize) {
            log.with(*node, |node| {
                node.outcome = Outcome::Committed;
                node.ended.1 = node.ended.1.min(log.tick());
            });
        }
    }
}
