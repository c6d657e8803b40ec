//! I/O commands.

use nvme::command::{
    BlockCommand, BlockRange, CopyBlocks, DatasetManagement, Engine, FcRead, HANDLE_MAX,
    PlacedWrite, ReadWrite, WriteZeroes,
};
use nvme::{BitsCommand, IoCommand, Lba};
use proptest::prelude::*;

use super::program::{execute, stream};
use super::search::search_command;
use super::{data, namespace};

fn blocks() -> impl Strategy<Value = BlockRange> {
    (any::<u64>(), 1u32..=65_536).prop_map(|(start, count)| BlockRange::new(Lba::new(start), count))
}

fn read_write() -> impl Strategy<Value = ReadWrite> {
    (namespace(), blocks(), any::<(bool, bool)>(), data()).prop_map(
        |(namespace, blocks, (force_unit_access, limited_retry), data)| ReadWrite {
            namespace,
            blocks,
            force_unit_access,
            limited_retry,
            data,
        },
    )
}

fn block_command() -> impl Strategy<Value = BlockCommand> {
    (namespace(), blocks()).prop_map(|(namespace, blocks)| BlockCommand { namespace, blocks })
}

fn vendor_command() -> impl Strategy<Value = BitsCommand> {
    let engine = prop_oneof![
        Just(Engine::FlashCosmos),
        Just(Engine::ParaBit),
        Just(Engine::InStorage)
    ];
    (
        namespace(),
        any::<u64>(),
        1u32..=49_152,
        engine,
        1u64..,
        any::<(bool, bool)>(),
        data(),
    )
        .prop_map(
            |(
                namespace,
                expression_address,
                expression_bytes,
                engine,
                bits,
                (count_only, check),
                data,
            )| {
                BitsCommand::FcRead(FcRead {
                    namespace,
                    expression_address,
                    expression_bytes,
                    engine,
                    bits,
                    count_only,
                    check,
                    data,
                })
            },
        )
}

fn placed_write() -> impl Strategy<Value = PlacedWrite> {
    (read_write(), 0..=HANDLE_MAX, any::<bool>()).prop_map(|(write, handle, inverse)| PlacedWrite {
        write,
        handle,
        inverse,
    })
}

pub(super) fn io_command() -> impl Strategy<Value = IoCommand> {
    prop_oneof![
        namespace().prop_map(|namespace| IoCommand::Flush { namespace }),
        read_write().prop_map(IoCommand::Read),
        read_write().prop_map(IoCommand::Write),
        (namespace(), blocks(), any::<(bool, bool)>()).prop_map(
            |(namespace, blocks, (deallocate, force_unit_access))| {
                IoCommand::WriteZeroes(WriteZeroes {
                    namespace,
                    blocks,
                    deallocate,
                    force_unit_access,
                })
            }
        ),
        (namespace(), 1u16..=256, any::<[bool; 3]>(), data()).prop_map(
            |(namespace, range_count, [deallocate, integral_read, integral_write], data)| {
                IoCommand::DatasetManagement(DatasetManagement {
                    namespace,
                    range_count,
                    deallocate,
                    integral_read,
                    integral_write,
                    data,
                })
            }
        ),
        read_write().prop_map(IoCommand::Compare),
        block_command().prop_map(IoCommand::Verify),
        block_command().prop_map(IoCommand::WriteUncorrectable),
        (
            namespace(),
            any::<u64>(),
            1u16..=256,
            any::<(bool, bool)>(),
            data()
        )
            .prop_map(
                |(
                    namespace,
                    destination,
                    range_count,
                    (force_unit_access, limited_retry),
                    data,
                )| {
                    IoCommand::Copy(CopyBlocks {
                        from_memory: false,
                        namespace,
                        destination: Lba::new(destination),
                        range_count,
                        force_unit_access,
                        limited_retry,
                        data,
                    })
                }
            ),
        vendor_command().prop_map(IoCommand::Bits),
        search_command().prop_map(IoCommand::Search),
        placed_write().prop_map(IoCommand::WritePlaced),
        execute().prop_map(IoCommand::Execute),
        stream().prop_map(IoCommand::Stream),
    ]
}
