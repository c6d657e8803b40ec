//! What single things take and spend, by the functions that charge a drive for them. All else of the cost model is made of
//! these: what an idle drive lives through, bounds, and the weights of planners.

use media::core::Work;
use media::nand::{
    BlockId, Command as NandCommand, Iscm, MwsPlane, MwsSlot, PageAddress, PageSet, PlaneId,
    PlaneMask, ProgramMode, WordlineBitmap,
};
use sim::{Energy, Span};

use super::{Account, Command, CostModel};
use crate::energy::of_power;

/// How long something takes, and what it spends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// How long it keeps what it is done with.
    pub span: Span,
    /// What it spends.
    pub energy: Energy,
}

/// Commands to a die.
impl CostModel {
    /// A sense of these wordlines in `planes` planes, wherever their blocks are.
    pub fn sense(&self, iscm: Iscm, plane: &MwsPlane, planes: u32) -> Command {
        let command = NandCommand::mws(iscm, (0..planes).map(|_| plane.clone()).collect());
        let (array, energy) = self.nand.mws_cost(iscm, plane);
        self.command(
            &command,
            Price {
                span: array,
                energy,
            },
            Account::Sense,
        )
    }

    /// A sense of one wordline, as read out, in `planes` planes.
    pub fn sense_of_one(&self, planes: u32) -> Command {
        let iscm = Iscm {
            inverse: false,
            init_s: true,
            init_c: true,
            transfer: true,
        };
        let slot = MwsSlot {
            block: BlockId(0),
            string: 0,
            wordlines: WordlineBitmap::single(0),
        };
        let slots = [slot].into_iter().collect();
        self.sense(iscm, &MwsPlane { slots }, planes)
    }

    /// An XOR of the latches of `planes` planes.
    pub fn xor(&self, planes: u32) -> Command {
        let planes = PlaneMask((0..planes).fold(0, |mask, plane| mask | 1 << plane));
        let (array, energy) = self.nand.xor_cost();
        let price = Price {
            span: array,
            energy,
        };
        self.command(&NandCommand::Xor { planes }, price, Account::Latch)
    }

    /// The command phase of a read of a page in each of `planes` planes; what the array takes, and spends, for each is
    /// [`NandConfig::read_costs`](media::nand::NandConfig::read_costs).
    pub fn read_cycles(&self, planes: u32) -> Span {
        self.nand.command_span(&NandCommand::Read {
            pages: self.pages(planes),
            inverse: false,
        })
    }

    /// A program, in computing's mode, of a page in each of `planes` planes.
    pub fn program(&self, planes: u32) -> Command {
        let mode = ProgramMode::Esp;
        let command = NandCommand::Program {
            pages: self.pages(planes),
            mode,
        };
        let busy = self.nand.longest_program(mode);
        let price = Price {
            span: busy.span,
            energy: busy.energy,
        };
        self.command(&command, price, Account::Program)
    }

    /// A page in each of the first planes of a die.
    fn pages(&self, planes: u32) -> PageSet {
        let geometry = &self.nand.geometry;
        let page = |plane| PageAddress {
            block: geometry.block_of_plane(PlaneId(plane), 0),
            page: 0,
        };
        (0..planes).map(page).collect()
    }

    fn command(&self, command: &NandCommand, array: Price, account: Account) -> Command {
        Command {
            cycles: self.nand.command_span(command),
            array: array.span,
            energy: array.energy,
            account,
        }
    }
}

/// Data on its way, and what is done with it.
impl CostModel {
    /// What comes before data out of a die on its channel (tRR).
    pub(crate) fn data_out_setup(&self) -> Span {
        Span::from_ns(self.nand.bus.t_rr_ns)
    }

    /// A page from a die's latches over its channel.
    pub fn page_out(&self) -> Price {
        self.bytes_out(self.page_bytes())
    }

    /// So many bytes from a die's latches over its channel.
    pub fn bytes_out(&self, bytes: u64) -> Price {
        let moved = self.moved(bytes);
        Price {
            span: self.data_out_setup() + moved.span,
            ..moved
        }
    }

    /// A page over a channel to a die's latches; its setup is the command's.
    pub fn page_in(&self) -> Price {
        self.moved(self.page_bytes())
    }

    fn moved(&self, bytes: u64) -> Price {
        let moved = bytes * u64::from(self.channel.transfer_pj_per_byte);
        Price {
            span: self.channel.span_of(bytes),
            energy: Energy::from_pj(moved),
        }
    }

    /// So many pages taken in by the accelerator.
    pub fn accelerated(&self, pages: u64) -> Price {
        let (span, energy) = self.accelerator.of(pages * self.page_bytes());
        Price { span, energy }
    }

    /// A message of so many bytes in one direction of the link.
    pub fn sent(&self, bytes: u64) -> Price {
        let wire = self.link.wire_bytes(bytes);
        let energy = wire * u64::from(self.link.transfer_pj_per_byte);
        Price {
            span: self.link.span_of_wire(wire),
            energy: Energy::from_pj(energy),
        }
    }

    /// A kind of firmware's work on an idle core.
    pub(crate) fn firmware(&self, work: Work) -> Span {
        self.cores.span_of(self.cores.work.cycles(work))
    }

    /// What the controller draws while commands are in flight for `time`.
    pub(crate) fn drawn(&self, time: Span) -> Energy {
        of_power(self.active_milliwatts, time)
    }
}
