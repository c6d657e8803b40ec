//! Commands of programs.

use nvme::AdminCommand;
use nvme::command::{ExecuteProgram, LoadProgram, ProgramActivation};
use nvme::task::{MAX_REQUEST_BYTES, MAX_RESULT_BYTES, REQUEST_BYTES_MIN, RESULT_BYTES_MIN};
use proptest::prelude::*;

use super::{data, namespace};

pub(super) fn program_admin() -> impl Strategy<Value = AdminCommand> {
    let numbers = any::<(u16, u8, u32, u64, u32, u32)>();
    let load = (namespace(), numbers, any::<(bool, bool)>(), data()).prop_map(
        |(namespace, numbers, (unload, persistent), data)| {
            AdminCommand::LoadProgram(LoadProgram {
                namespace,
                program: numbers.0,
                program_type: numbers.1,
                unload,
                persistent,
                program_bytes: numbers.2,
                identifier: numbers.3,
                chunk_bytes: numbers.4,
                offset: numbers.5,
                data,
            })
        },
    );
    let activation =
        (namespace(), any::<(u16, bool)>()).prop_map(|(namespace, (program, activate))| {
            AdminCommand::ProgramActivation(ProgramActivation {
                namespace,
                program,
                activate,
            })
        });
    prop_oneof![load, activation]
}

pub(super) fn execute() -> impl Strategy<Value = ExecuteProgram> {
    let request = REQUEST_BYTES_MIN..=MAX_REQUEST_BYTES;
    let result = RESULT_BYTES_MIN..=MAX_RESULT_BYTES;
    (namespace(), any::<u16>(), request, result, data()).prop_map(
        |(namespace, program, request_bytes, result_bytes, data)| ExecuteProgram {
            namespace,
            program,
            request_bytes,
            result_bytes,
            data,
        },
    )
}
