//! What senses and latch moves compute, against a model that takes one bit at a time.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const BYTES: usize = 32;
const BITS: usize = BYTES * 8;
type Bits = [bool; BITS];

/// A command to die 0, perhaps illegal, over the first four blocks of one or both planes.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Program {
        pages: Vec<(u32, u32)>,
        seed: u8,
    },
    CopybackProgram {
        pages: Vec<(u32, u32)>,
    },
    Erase {
        blocks: Vec<u32>,
    },
    Read {
        pages: Vec<(u32, u32)>,
        inverse: bool,
    },
    CacheRead {
        pages: Vec<(u32, u32)>,
    },
    CopybackRead {
        pages: Vec<(u32, u32)>,
    },
    CacheReadEnd(u8),
    Xor(u8),
    LatchTransfer(u8),
    LatchLoad(u8),
    Mws {
        iscm: u8,
        planes: Vec<Vec<(u32, u32, u8)>>,
    },
}

pub(super) fn a_step() -> impl Strategy<Value = Step> {
    // One page in plane 0, in plane 1, or in both: blocks 0 to 3 and 6 to 9.
    let pages = || {
        let page = || (0u32..4, 0u32..8);
        prop_oneof![
            page().prop_map(|page| vec![page]),
            page().prop_map(|(block, page)| vec![(block + 6, page)]),
            (page(), page()).prop_map(|(a, (block, page))| vec![a, (block + 6, page)]),
        ]
    };
    let slots = || prop::collection::vec((0u32..4, 0u32..2, 1u8..16), 1..=4);
    let planes = prop_oneof![
        slots().prop_map(|slots| vec![slots]),
        (slots(), slots()).prop_map(|(a, b)| {
            let b = b
                .into_iter()
                .map(|(block, string, layers)| (block + 6, string, layers));
            vec![a, b.collect()]
        }),
    ];
    prop_oneof![
        4 => (pages(), any::<u8>()).prop_map(|(pages, seed)| Step::Program { pages, seed }),
        1 => pages().prop_map(|pages| Step::CopybackProgram { pages }),
        1 => pages().prop_map(|pages| Step::Erase {
            blocks: pages.into_iter().map(|(block, _)| block).collect()
        }),
        2 => (pages(), any::<bool>()).prop_map(|(pages, inverse)| Step::Read { pages, inverse }),
        1 => pages().prop_map(|pages| Step::CacheRead { pages }),
        1 => pages().prop_map(|pages| Step::CopybackRead { pages }),
        1 => (1u8..4).prop_map(Step::CacheReadEnd),
        1 => (1u8..4).prop_map(Step::Xor),
        1 => (1u8..4).prop_map(Step::LatchTransfer),
        1 => (1u8..4).prop_map(Step::LatchLoad),
        8 => (0u8..16, planes).prop_map(|(iscm, planes)| Step::Mws { iscm, planes }),
    ]
}

fn page_set(pages: &[(u32, u32)]) -> PageSet {
    pages
        .iter()
        .map(|&(block, index)| page(block, index))
        .collect()
}

impl Step {
    pub(super) fn loads(&self) -> bool {
        matches!(self, Step::Program { .. })
    }

    pub(super) fn command(&self) -> Command {
        let mode = ProgramMode::Esp;
        match self {
            Step::Program { pages, .. } => Command::Program {
                pages: page_set(pages),
                mode,
            },
            Step::CopybackProgram { pages } => Command::CopybackProgram {
                pages: page_set(pages),
                mode,
            },
            Step::Erase { blocks } => Command::Erase {
                blocks: blocks.iter().copied().map(BlockId).collect(),
            },
            Step::Read { pages, inverse } => Command::Read {
                pages: page_set(pages),
                inverse: *inverse,
            },
            Step::CacheRead { pages } => Command::CacheRead {
                pages: page_set(pages),
            },
            Step::CopybackRead { pages } => Command::CopybackRead {
                pages: page_set(pages),
            },
            Step::CacheReadEnd(planes) => Command::CacheReadEnd {
                planes: PlaneMask(*planes),
            },
            Step::Xor(planes) => Command::Xor {
                planes: PlaneMask(*planes),
            },
            Step::LatchTransfer(planes) => Command::LatchTransfer {
                planes: PlaneMask(*planes),
            },
            Step::LatchLoad(planes) => Command::LatchLoad {
                planes: PlaneMask(*planes),
            },
            Step::Mws { iscm, planes } => {
                let iscm = Iscm::from_byte(*iscm).expect("four bits");
                let planes = planes.iter().map(|slots| MwsPlane {
                    slots: slots
                        .iter()
                        .map(|&(block, string, layers)| MwsSlot {
                            block: BlockId(block),
                            string,
                            wordlines: layers_of(layers).collect(),
                        })
                        .collect(),
                });
                Command::mws(iscm, planes.collect())
            }
        }
    }
}

fn layers_of(mask: u8) -> impl Iterator<Item = u32> {
    (0..8).filter(move |layer| mask & 1 << layer != 0)
}

fn pattern(seed: u8, plane: usize) -> [u8; BYTES] {
    std::array::from_fn(|index| {
        (seed as usize * 73 + plane * 151 + index * (2 * seed as usize + 1) * 29) as u8
    })
}

fn bits(bytes: &[u8]) -> Bits {
    std::array::from_fn(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1)
}

/// Cells and latches, bit by bit.
struct Model {
    cells: BTreeMap<(u32, u32), Bits>,
    s: [Bits; 2],
    c: [Bits; 2],
}

impl Model {
    fn cell(&self, block: u32, page: u32, bit: usize) -> bool {
        self.cells.get(&(block, page)).is_none_or(|bits| bits[bit])
    }

    /// Flash-Cosmos Figures 3, 4 and 6 for one bitline that conducts if `v`.
    fn latch(&mut self, plane: usize, bit: usize, v: bool, iscm: Iscm) {
        let (s, c) = (&mut self.s[plane][bit], &mut self.c[plane][bit]);
        if iscm.inverse {
            *s = !v;
        } else {
            if iscm.init_s {
                *s = true;
            }
            if !v {
                *s = false;
            }
        }
        if iscm.init_c {
            *c = false;
        }
        if iscm.transfer && *s {
            *c = true;
        }
    }

    fn read(&mut self, pages: &[(u32, u32)], iscm: Iscm) {
        for &(block, page) in pages {
            for bit in 0..BITS {
                self.latch((block / 6) as usize, bit, self.cell(block, page, bit), iscm);
            }
        }
    }

    fn mws(&mut self, planes: &[Vec<(u32, u32, u8)>], iscm: Iscm) {
        for slots in planes {
            let plane = (slots[0].0 / 6) as usize;
            for bit in 0..BITS {
                let mut conducts = false;
                for &(block, string, layers) in slots {
                    let mut all = true;
                    for layer in layers_of(layers) {
                        all &= self.cell(block, layer * 2 + string, bit);
                    }
                    conducts |= all;
                }
                self.latch(plane, bit, conducts, iscm);
            }
        }
    }

    fn for_latches(&mut self, planes: u8, combine: fn(bool, bool) -> bool) {
        for plane in (0..2).filter(|plane| planes & 1 << plane != 0) {
            for bit in 0..BITS {
                self.c[plane][bit] = combine(self.s[plane][bit], self.c[plane][bit]);
            }
        }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Program { pages, seed } => {
                for &(block, page) in pages {
                    let plane = (block / 6) as usize;
                    self.c[plane] = bits(&pattern(*seed, plane));
                    self.cells.insert((block, page), self.c[plane]);
                }
            }
            Step::CopybackProgram { pages } => {
                for &(block, page) in pages {
                    self.cells
                        .insert((block, page), self.c[(block / 6) as usize]);
                }
            }
            Step::Erase { blocks } => self.cells.retain(|(block, _), _| !blocks.contains(block)),
            Step::Read { pages, inverse } => {
                let iscm = Iscm {
                    inverse: *inverse,
                    ..Iscm::READ
                };
                self.read(pages, iscm);
            }
            Step::CacheRead { pages } => {
                for &(block, _) in pages {
                    let plane = (block / 6) as usize;
                    self.c[plane] = self.s[plane];
                }
                self.read(pages, flags("s"));
            }
            Step::CopybackRead { pages } => self.read(pages, Iscm::READ),
            Step::CacheReadEnd(planes) => self.for_latches(*planes, |s, _| s),
            Step::Xor(planes) => self.for_latches(*planes, |s, c| s ^ c),
            Step::LatchTransfer(planes) => self.for_latches(*planes, |s, c| s | c),
            Step::LatchLoad(planes) => {
                for plane in PlaneMask(*planes).iter() {
                    self.s[plane as usize] = self.c[plane as usize];
                }
            }
            Step::Mws { iscm, planes } => {
                self.mws(planes, Iscm::from_byte(*iscm).expect("four bits"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn latches_hold_what_the_model_says(steps in prop::collection::vec(a_step(), 1..80)) {
        let mut d = Driver::new(&small(), Storage::Memory);
        let zeros = [[false; BITS]; 2];
        let mut model = Model { cells: BTreeMap::new(), s: zeros, c: zeros };
        let mut accepted = 0;
        for step in steps {
            if let Step::Program { pages, seed } = &step {
                for &(block, _) in pages {
                    let plane = (block / 6) as usize;
                    // What a refused program leaves in the register is loaded all the same.
                    model.c[plane] = bits(&pattern(*seed, plane));
                    let (bytes, plane) = (pattern(*seed, plane), PlaneId(plane as u32));
                    if seed % 2 == 0 {
                        d.nand.data_in(plane, 0, &bytes).expect("the die is idle");
                        continue;
                    }
                    let mut frame = d.nand.frames().take();
                    frame.bytes_mut().copy_from_slice(&bytes);
                    d.nand.frame_in(plane, &frame).expect("the die is idle");
                    // What others do with it afterwards is theirs.
                    frame.bytes_mut().fill(0);
                }
            }
            if d.run(0, &step.command()).is_ok() {
                model.apply(&step);
                accepted += 1;
            }
            for plane in 0..2 {
                prop_assert_eq!(bits(&d.register(plane as u32)), model.c[plane], "after {:?}", step);
                let ones = model.c[plane].iter().filter(|bit| **bit).count() as u64;
                let plane = PlaneId(plane as u32);
                prop_assert_eq!(d.nand.count_ones(plane, u64::MAX).expect("the die is idle"), ones);
                if let Some(frame) = d.nand.frame_out(plane).expect("the die is idle") {
                    prop_assert_eq!(bits(frame.bytes()), model.c[plane.0 as usize]);
                }
            }
        }
        prop_assume!(accepted > 0);
    }
}

/// From the buffer that a page comes in to the one that it is read to there is one frame.
#[test]
fn a_whole_page_is_not_copied() {
    let mut d = Driver::new(&small(), Storage::Memory);
    let mut frame = d.nand.frames().take();
    frame.bytes_mut().copy_from_slice(&pattern(1, 0));
    let at = frame.bytes().as_ptr();
    let program = Step::Program {
        pages: vec![(0, 0)],
        seed: 1,
    };
    d.nand
        .frame_in(PlaneId(0), &frame)
        .expect("the die is idle");
    drop(frame);
    d.run(0, &program.command()).expect("a program");
    let read = Step::Read {
        pages: vec![(0, 0)],
        inverse: false,
    };
    d.run(0, &read.command()).expect("a read");
    let read = d.nand.frame_out(PlaneId(0)).expect("the die is idle");
    let read = read.expect("what was programmed").clone();
    assert_eq!(read.bytes().as_ptr(), at);
    // It is still there for who has read it, and for the latch, when flash has it no more; the latch has it for itself.
    d.run(0, &Step::Erase { blocks: vec![0] }.command())
        .expect("an erase");
    assert_eq!(read.bytes(), pattern(1, 0));
    assert_eq!(d.register(0), pattern(1, 0));
    assert!(
        d.nand
            .frame_out(PlaneId(0))
            .expect("the die is idle")
            .is_none()
    );
}

#[test]
fn an_inverse_read_is_no_frame_of_flash() {
    let mut d = Driver::new(&small(), Storage::Memory);
    d.nand
        .data_in(PlaneId(0), 0, &pattern(1, 0))
        .expect("the die is idle");
    let pages = vec![(0, 0)];
    let program = Step::Program {
        pages: pages.clone(),
        seed: 1,
    };
    d.run(0, &program.command()).expect("a program");
    let inverse = true;
    d.run(0, &Step::Read { pages, inverse }.command())
        .expect("a read");
    assert!(
        d.nand
            .frame_out(PlaneId(0))
            .expect("the die is idle")
            .is_none()
    );
}
