//! Commands of programs.

use nvme::AdminCommand;
use nvme::collector::Policy;
use nvme::command::{
    CollectorClose, CollectorExtend, CollectorOpen, ExecuteProgram, LoadProgram, ProgramActivation,
    StreamClose, StreamCommand, StreamOpen, StreamRead, StreamWrite,
};
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

pub(super) fn stream() -> impl Strategy<Value = StreamCommand> {
    let input = prop_oneof![
        Just((None, None)),
        (0_u32..1 << 31).prop_map(|file| (Some(file), None)),
        any::<u16>().prop_map(|port| (None, Some(port))),
    ];
    let output = prop::option::of(0..u32::MAX);
    let request = || REQUEST_BYTES_MIN..=MAX_REQUEST_BYTES;
    let numbers = (any::<(u16, u32, u16, bool)>(), request(), input, output);
    let open = (namespace(), numbers, data()).prop_map(
        |(namespace, (of, request_bytes, (input, collector), output), data)| {
            StreamCommand::Open(StreamOpen {
                namespace,
                program: of.0,
                program_namespace: !of.0,
                request_bytes,
                piece_bytes: of.1,
                elements: of.2,
                unordered: of.3,
                input,
                collector,
                output,
                data,
            })
        },
    );
    let read = (namespace(), any::<u32>(), 1..=u32::MAX, data()).prop_map(
        |(namespace, stream, bytes, data)| {
            StreamCommand::Read(StreamRead {
                namespace,
                stream,
                bytes,
                data,
            })
        },
    );
    let write = (namespace(), any::<(u32, bool)>(), 1..=u32::MAX, data()).prop_map(
        |(namespace, (stream, end), bytes, data)| {
            StreamCommand::Write(StreamWrite {
                namespace,
                stream,
                bytes,
                end,
                data,
            })
        },
    );
    let close = (namespace(), any::<u32>())
        .prop_map(|(namespace, stream)| StreamCommand::Close(StreamClose { namespace, stream }));
    let policy = prop::sample::select(Policy::ALL.to_vec());
    let numbers = (any::<(u16, bool, u32, u32)>(), request(), policy);
    let collect = (namespace(), numbers, data()).prop_map(
        |(namespace, (of, request_bytes, policy), data)| {
            StreamCommand::CollectorOpen(CollectorOpen {
                namespace,
                port: of.0,
                policy,
                goes_on: of.1,
                request_bytes,
                share_bytes: of.2,
                low_bytes: of.3,
                data,
            })
        },
    );
    let extend = (namespace(), any::<u16>(), request(), data()).prop_map(
        |(namespace, port, request_bytes, data)| {
            StreamCommand::CollectorExtend(CollectorExtend {
                namespace,
                port,
                request_bytes,
                data,
            })
        },
    );
    let end = (namespace(), any::<u16>()).prop_map(|(namespace, port)| {
        StreamCommand::CollectorClose(CollectorClose { namespace, port })
    });
    prop_oneof![open, read, write, close, collect, extend, end]
}

pub(super) fn execute() -> impl Strategy<Value = ExecuteProgram> {
    let request = REQUEST_BYTES_MIN..=MAX_REQUEST_BYTES;
    let result = RESULT_BYTES_MIN..=MAX_RESULT_BYTES;
    (namespace(), any::<u16>(), request, result, data()).prop_map(
        |(namespace, program, request_bytes, result_bytes, data)| ExecuteProgram {
            namespace,
            program,
            program_namespace: !program,
            request_bytes,
            result_bytes,
            data,
        },
    )
}
