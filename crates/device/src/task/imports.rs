//! The calls that a task has, and what it is told of them: module "isc".

use std::future::Future;

use wasmtime::{Caller, Linker, Result};

use super::errno;
use super::hatch::{Answer, Request};
use super::inside::{Call, Inside, Span};
use super::operate::operate;

/// The module that tasks import their calls from.
pub(super) const MODULE: &str = "isc";

/// The calls by name, and their types as the text format has them.
pub(super) const CALLS: [(&str, &str); 17] = [
    ("args_size", "() -> i32"),
    ("get_args", "(i32, i32, i32) -> i32"),
    ("put_ret", "(i32, i32) -> i32"),
    ("file_count", "() -> i32"),
    ("file_size", "(i32) -> i64"),
    ("file_read", "(i32, i32, i32, i64) -> i64"),
    ("file_write", "(i32, i32, i32, i64) -> i64"),
    ("submit_read", "(i32, i32, i32, i64) -> i32"),
    ("submit_write", "(i32, i32, i32, i64) -> i32"),
    ("wait", "(i32) -> i64"),
    ("log", "(i32, i32) -> i32"),
    ("evaluate", "(i32, i32, i64, i32) -> i64"),
    ("look_up", "(i32, i32, i32, i32, i32) -> i64"),
    ("stream_next", "(i32, i32, i32) -> i64"),
    ("stream_emit", "(i32, i32) -> i64"),
    ("operate", "(i32, i32) -> i32"),
    ("parameter", "(i32) -> i64"),
];

/// Bytes of the longest name that is looked up.
const NAME_BYTES_MAX: u32 = nvme::query::MAX_NAME_BITS / 8;

type Answering<'a, T> = Box<dyn Future<Output = Result<T>> + Send + 'a>;
type From<'a> = Caller<'a, Inside>;

/// Has a linker offer all calls.
pub(super) fn offer(linker: &mut Linker<Inside>) -> Result<()> {
    linker
        .func_wrap_async(
            MODULE,
            "args_size",
            |from: From<'_>, (): ()| -> Answering<'_, i32> { Box::new(args_size(from)) },
        )?
        .func_wrap_async(
            MODULE,
            "get_args",
            |from: From<'_>, args| -> Answering<'_, i32> { Box::new(get_args(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "put_ret",
            |from: From<'_>, args| -> Answering<'_, i32> { Box::new(put_ret(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "file_count",
            |from: From<'_>, (): ()| -> Answering<'_, i32> { Box::new(file_count(from)) },
        )?
        .func_wrap_async(
            MODULE,
            "file_size",
            |from: From<'_>, (file,)| -> Answering<'_, i64> { Box::new(file_size(from, file)) },
        )?
        .func_wrap_async(
            MODULE,
            "file_read",
            |from: From<'_>, args| -> Answering<'_, i64> { Box::new(file_read(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "file_write",
            |from: From<'_>, args| -> Answering<'_, i64> { Box::new(file_write(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "submit_read",
            |from: From<'_>, args| -> Answering<'_, i32> { Box::new(submit_read(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "submit_write",
            |from: From<'_>, args| -> Answering<'_, i32> { Box::new(submit_write(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "wait",
            |from: From<'_>, (ticket,)| -> Answering<'_, i64> { Box::new(wait(from, ticket)) },
        )?
        .func_wrap_async(
            MODULE,
            "log",
            |from: From<'_>, args| -> Answering<'_, i32> { Box::new(log(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "evaluate",
            |from: From<'_>, args| -> Answering<'_, i64> { Box::new(evaluate(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "look_up",
            |from: From<'_>, args| -> Answering<'_, i64> { Box::new(look_up(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "stream_next",
            |from: From<'_>, args| -> Answering<'_, i64> { Box::new(stream_next(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "stream_emit",
            |from: From<'_>, args| -> Answering<'_, i64> { Box::new(stream_emit(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "operate",
            |from: From<'_>, args| -> Answering<'_, i32> { Box::new(operate(from, args)) },
        )?
        .func_wrap_async(
            MODULE,
            "parameter",
            |from: From<'_>, (number,)| -> Answering<'_, i64> { Box::new(parameter(from, number)) },
        )?;
    Ok(())
}

async fn args_size(from: From<'_>) -> Result<i32> {
    let mut call = Call::begin("args_size", from, 0).await?;
    Ok(call.inside().arguments.len() as i32)
}

async fn get_args(from: From<'_>, (to, bytes, offset): (i32, i32, i32)) -> Result<i32> {
    let left = from
        .data()
        .arguments
        .len()
        .saturating_sub(offset as u32 as usize);
    let copied = left.min(bytes as u32 as usize);
    let mut call = Call::begin("get_args", from, copied as u32).await?;
    call.check(Span::new(to, bytes))?;
    call.with(Span::new(to, copied as i32), |memory, inside| {
        if copied > 0 {
            let begin = offset as u32 as usize;
            memory.copy_from_slice(&inside.arguments[begin..begin + copied]);
        }
        copied as i32
    })
}

async fn parameter(from: From<'_>, number: i32) -> Result<i64> {
    let mut call = Call::begin("parameter", from, 0).await?;
    let parameters = call.inside().parameters;
    let given = usize::try_from(number).ok();
    let given = given.and_then(|number| parameters.get(number).copied());
    Ok(given.unwrap_or(0).cast_signed())
}

async fn put_ret(from: From<'_>, (at, bytes): (i32, i32)) -> Result<i32> {
    let span = Span::new(at, bytes);
    let inside = from.data();
    let fits =
        inside.returned.len() as u64 + u64::from(span.bytes) <= inside.limits.return_bytes.into();
    let mut call = Call::begin("put_ret", from, if fits { span.bytes } else { 0 }).await?;
    call.with(span, |memory, inside| match fits {
        true => {
            inside.returned.extend_from_slice(memory);
            0
        }
        false => -errno::ENOSPC,
    })
}

async fn log(from: From<'_>, (at, bytes): (i32, i32)) -> Result<i32> {
    let span = Span::new(at, bytes);
    let inside = from.data();
    let fits = inside.log.len() as u64 + u64::from(span.bytes) <= inside.limits.log_bytes.into();
    let mut call = Call::begin("log", from, if fits { span.bytes } else { 0 }).await?;
    call.with(span, |memory, inside| match fits {
        true => {
            inside.log.extend_from_slice(memory);
            0
        }
        false => -errno::ENOSPC,
    })
}

async fn file_count(from: From<'_>) -> Result<i32> {
    let mut call = Call::begin("file_count", from, 0).await?;
    Ok(call.inside().file_count() as i32)
}

async fn file_size(from: From<'_>, file: i32) -> Result<i64> {
    let mut call = Call::begin("file_size", from, 0).await?;
    let facts = call.inside().file(file);
    Ok(facts.map_or(refused(errno::EBADF), |facts| facts.bytes as i64))
}

/// A call that names a file, bytes of memory and an offset.
type Transfer = (i32, i32, i32, i64);

/// Bytes of a file that a read is to bring, from which offset on; or what the task is told at once.
fn readable(
    call: &mut Call<'_>,
    (file, to, bytes, offset): Transfer,
) -> Result<std::result::Result<(u64, u32), i64>> {
    call.check(Span::new(to, bytes))?;
    let Some(facts) = call.inside().file(file) else {
        return Ok(Err(refused(errno::EBADF)));
    };
    let Ok(offset) = u64::try_from(offset) else {
        return Ok(Err(refused(errno::EINVAL)));
    };
    let left = facts.bytes.saturating_sub(offset);
    Ok(Ok((offset, left.min(u64::from(bytes as u32)) as u32)))
}

/// The offset at which a write begins; or what the task is told at once.
fn writable(
    call: &mut Call<'_>,
    (file, at, bytes, offset): Transfer,
) -> Result<std::result::Result<u64, i64>> {
    call.check(Span::new(at, bytes))?;
    let Some(facts) = call.inside().file(file) else {
        return Ok(Err(refused(errno::EBADF)));
    };
    let Ok(offset) = u64::try_from(offset) else {
        return Ok(Err(refused(errno::EINVAL)));
    };
    if !facts.writable {
        return Ok(Err(refused(errno::EACCES)));
    }
    let end = offset.checked_add(u64::from(bytes as u32));
    Ok(match end.is_some_and(|end| end <= facts.bytes) {
        true => Ok(offset),
        false => Err(refused(errno::EFBIG)),
    })
}

async fn file_read(from: From<'_>, transfer: Transfer) -> Result<i64> {
    let mut call = Call::begin("file_read", from, 0).await?;
    let (offset, bytes) = match readable(&mut call, transfer)? {
        Ok((_, 0)) => return Ok(0),
        Ok(part) => part,
        Err(error) => return Ok(error),
    };
    let (file, to, ..) = transfer;
    let request = Request::Read {
        file: file as u32,
        offset,
        bytes,
    };
    let answer = call.ask(request).await?;
    let span = Span::new(to, bytes as i32);
    told(&mut call, answer, Some(span))
}

async fn file_write(from: From<'_>, transfer: Transfer) -> Result<i64> {
    let mut call = Call::begin("file_write", from, 0).await?;
    let offset = match writable(&mut call, transfer)? {
        Ok(offset) => offset,
        Err(error) => return Ok(error),
    };
    let (file, at, bytes, _) = transfer;
    if bytes == 0 {
        return Ok(0);
    }
    let data = call.data(Span::new(at, bytes))?;
    let request = Request::Write {
        file: file as u32,
        offset,
        data,
    };
    let answer = call.ask(request).await?;
    told(&mut call, answer, None)
}

async fn submit_read(from: From<'_>, transfer: Transfer) -> Result<i32> {
    let mut call = Call::begin("submit_read", from, 0).await?;
    let (offset, bytes) = match readable(&mut call, transfer)? {
        Ok(part) => part,
        Err(error) => return Ok(error as i32),
    };
    let (file, to, ..) = transfer;
    let request = Request::SubmitRead {
        file: file as u32,
        offset,
        bytes,
    };
    match call.ask(request).await? {
        Answer::Ticket(ticket) => {
            call.inside().reads.insert(ticket, (to as u32, bytes));
            Ok(ticket as i32)
        }
        answer => Ok(told(&mut call, answer, None)? as i32),
    }
}

async fn submit_write(from: From<'_>, transfer: Transfer) -> Result<i32> {
    let mut call = Call::begin("submit_write", from, 0).await?;
    let offset = match writable(&mut call, transfer)? {
        Ok(offset) => offset,
        Err(error) => return Ok(error as i32),
    };
    let (file, at, bytes, _) = transfer;
    let data = call.data(Span::new(at, bytes))?;
    let request = Request::SubmitWrite {
        file: file as u32,
        offset,
        data,
    };
    let answer = call.ask(request).await?;
    Ok(told(&mut call, answer, None)? as i32)
}

async fn wait(from: From<'_>, ticket: i32) -> Result<i64> {
    let mut call = Call::begin("wait", from, 0).await?;
    let Ok(ticket) = u32::try_from(ticket) else {
        return Ok(refused(errno::EINVAL));
    };
    let answer = call.ask(Request::Wait { ticket }).await?;
    let read = call.inside().reads.remove(&ticket);
    let span = read.map(|(at, bytes)| Span { at, bytes });
    told(&mut call, answer, span)
}

async fn evaluate(from: From<'_>, (at, bytes, bits, to): (i32, i32, i64, i32)) -> Result<i64> {
    let span = Span::new(at, bytes);
    let fits = span.bytes as usize <= nvme::MAX_ENCODED_BYTES;
    let mut call = Call::begin("evaluate", from, if fits { span.bytes } else { 0 }).await?;
    call.check(span)?;
    if !fits {
        return Ok(refused(errno::EINVAL));
    }
    let expression = call.copy_out(span)?;
    let to = match to {
        -1 => None,
        _ => match call.inside().file(to) {
            None => return Ok(refused(errno::EBADF)),
            Some(facts) if !facts.writable => return Ok(refused(errno::EACCES)),
            Some(_) => Some(to as u32),
        },
    };
    let Ok(bits) = u64::try_from(bits) else {
        return Ok(refused(errno::EINVAL));
    };
    let request = Request::Evaluate {
        expression,
        bits,
        to,
    };
    let answer = call.ask(request).await?;
    told(&mut call, answer, None)
}

async fn look_up(
    from: From<'_>,
    (store, at, bytes, to, capacity): (i32, i32, i32, i32, i32),
) -> Result<i64> {
    let span = Span::new(at, bytes);
    let fits = span.bytes <= NAME_BYTES_MAX;
    let mut call = Call::begin("look_up", from, if fits { span.bytes } else { 0 }).await?;
    let room = Span::new(to, capacity);
    call.check(room)?;
    call.check(span)?;
    if !fits {
        return Ok(refused(errno::EINVAL));
    }
    let name = call.copy_out(span)?;
    let store = store as u32;
    let request = Request::LookUp {
        store,
        name,
        capacity: room.bytes,
    };
    let answer = call.ask(request).await?;
    told(&mut call, answer, Some(room))
}

/// Bytes of the number that says where a piece lies.
const OFFSET_BYTES: i32 = 8;

async fn stream_next(from: From<'_>, (to, capacity, offset_to): (i32, i32, i32)) -> Result<i64> {
    let (room, place) = (Span::new(to, capacity), Span::new(offset_to, OFFSET_BYTES));
    let mut call = Call::begin("stream_next", from, 0).await?;
    call.check(room)?;
    call.check(place)?;
    if room.bytes == 0 {
        return Ok(refused(errno::EINVAL));
    }
    let capacity = room.bytes;
    match call.ask(Request::NextPiece { capacity }).await? {
        Answer::Piece(Some(piece)) => {
            if piece.begins {
                call.refuel()?;
            }
            call.with(place, |memory, _| {
                memory.copy_from_slice(&piece.offset.to_le_bytes());
            })?;
            told(&mut call, Answer::Data(piece.data), Some(room))
        }
        answer => told(&mut call, answer, None),
    }
}

async fn stream_emit(from: From<'_>, (at, bytes): (i32, i32)) -> Result<i64> {
    let mut call = Call::begin("stream_emit", from, 0).await?;
    let data = call.data(Span::new(at, bytes))?;
    let answer = call.ask(Request::Emit { data }).await?;
    told(&mut call, answer, None)
}

/// What the task is told of an answer; what came goes into its memory.
fn told(call: &mut Call<'_>, answer: Answer, into: Option<Span>) -> Result<i64> {
    Ok(match (answer, into) {
        (Answer::Data(data), Some(span)) => call.put(span, &data)?.into(),
        (Answer::Value(Some(value)), Some(room)) => {
            call.with(room, |memory, _| {
                let there = value.len().min(memory.len());
                memory[..there].copy_from_slice(&value[..there]);
            })?;
            value.len() as i64
        }
        (Answer::Value(None), _) => refused(errno::ENOENT),
        (Answer::Count(count), _) => count as i64,
        (Answer::Ticket(ticket), _) => ticket.into(),
        (Answer::Refused(number), _) => refused(number),
        (Answer::Done | Answer::Data(_) | Answer::Value(_) | Answer::Piece(_), _) => 0,
    })
}

/// As calls say that they are refused.
fn refused(number: i32) -> i64 {
    (-number).into()
}
