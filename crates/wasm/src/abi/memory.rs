//! The memory of a plugin: whatever a plugin passes as a pointer or a length is checked here.

use thiserror::Error;
use wasmtime::Caller;

use crate::abi_status::{AbiStatus, report};
use crate::guest_state::GuestState;

pub(super) type GuestCaller<'a> = Caller<'a, GuestState>;

/// Why the host ends a call into a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum GuestAbort {
    #[error("the time limit is exceeded")]
    Time,
    #[error("the plugin's allocator returned {returned:#x} for {length} bytes, which is {reason}")]
    Allocation {
        length: u32,
        returned: u32,
        reason: &'static str,
    },
    #[error("the plugin called its host from its allocator")]
    NestedAllocation,
    #[error("the plugin exited with {0}")]
    Exit(i32),
}

/// The plugin's memory, and the state that host functions work on.
pub(super) fn parts<'a>(
    caller: &'a mut GuestCaller<'_>,
) -> Result<(&'a mut [u8], &'a mut GuestState), AbiStatus> {
    let memory = caller.data().memory.ok_or(AbiStatus::InternalFailure)?;
    Ok(memory.data_and_store_mut(caller))
}

/// `length` bytes at `at`.
pub(super) fn slice(memory: &[u8], at: u32, length: u32) -> Result<&[u8], AbiStatus> {
    let (at, length) = (at as usize, length as usize);
    let end = at
        .checked_add(length)
        .ok_or(AbiStatus::InvalidMemoryAccess)?;
    memory.get(at..end).ok_or(AbiStatus::InvalidMemoryAccess)
}

/// As [`slice`], as text.
pub(super) fn text(memory: &[u8], at: u32, length: u32) -> Result<&str, AbiStatus> {
    std::str::from_utf8(slice(memory, at, length)?).map_err(|_| AbiStatus::BadArgument)
}

/// Writes `bytes` at `at`.
pub(super) fn put(memory: &mut [u8], at: u32, bytes: &[u8]) -> Result<(), AbiStatus> {
    let at = at as usize;
    let end = at
        .checked_add(bytes.len())
        .ok_or(AbiStatus::InvalidMemoryAccess)?;
    let target = memory.get_mut(at..end);
    target
        .ok_or(AbiStatus::InvalidMemoryAccess)?
        .copy_from_slice(bytes);
    Ok(())
}

/// Hands data to the plugin in memory of the plugin's allocator, and writes its address and length to `pointer_at` and
/// `length_at`. Data without bytes has the address 0.
///
/// # Errors
/// The allocator does not work: the call into the plugin ends.
pub(super) async fn give(
    caller: &mut GuestCaller<'_>,
    data: Result<impl AsRef<[u8]>, AbiStatus>,
    pointer_at: u32,
    length_at: u32,
) -> wasmtime::Result<i32> {
    let data = match data {
        Ok(data) => data,
        Err(status) => return Ok(status as i32),
    };
    let data = data.as_ref();
    let Ok(length) = u32::try_from(data.len()) else {
        return Ok(AbiStatus::InternalFailure as i32);
    };
    if let Err(status) = write_result(caller, pointer_at, 0, length_at, 0) {
        return Ok(status as i32);
    }
    if length == 0 {
        return Ok(0);
    }
    let at = allocate(caller, length).await?;
    let bad = |reason| GuestAbort::Allocation {
        length,
        returned: at,
        reason,
    };
    if at == 0 {
        return Err(bad("no address").into());
    }
    if [pointer_at, length_at]
        .iter()
        .any(|word| overlaps(at, length, *word))
    {
        return Err(bad("in use").into());
    }
    let written = parts(caller).and_then(|(memory, _)| put(memory, at, data));
    if written.is_err() {
        return Err(bad("out of bounds").into());
    }
    Ok(report(write_result(
        caller, pointer_at, at, length_at, length,
    )))
}

fn write_result(
    caller: &mut GuestCaller<'_>,
    pointer_at: u32,
    pointer: u32,
    length_at: u32,
    length: u32,
) -> Result<(), AbiStatus> {
    let (memory, _) = parts(caller)?;
    put(memory, pointer_at, &pointer.to_le_bytes())?;
    put(memory, length_at, &length.to_le_bytes())
}

async fn allocate(caller: &mut GuestCaller<'_>, length: u32) -> wasmtime::Result<u32> {
    let Some(allocator) = caller.data_mut().allocator.take() else {
        return Err(GuestAbort::NestedAllocation.into());
    };
    let allocated = allocator.call_async(&mut *caller, length).await;
    caller.data_mut().allocator = Some(allocator);
    allocated
}

/// Whether the four bytes at `word` are among `length` bytes at `at`.
fn overlaps(at: u32, length: u32, word: u32) -> bool {
    let (at, word) = (u64::from(at), u64::from(word));
    word < at + u64::from(length) && at < word + 4
}
