//! What the process has in memory, by the system's count.

/// Bytes in memory that belong to the process alone: its heap and its stacks, without the pages of files. `None` outside
/// Linux.
pub fn anonymous_bytes() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/self/statm").ok()?;
    // Pages: address space, resident, and those of the resident ones that belong to files (proc_pid_statm(5)).
    let mut pages = counts.split_ascii_whitespace().skip(1);
    let resident: u64 = pages.next()?.parse().ok()?;
    let of_files: u64 = pages.next()?.parse().ok()?;
    Some(resident.saturating_sub(of_files) * page_bytes() as u64)
}

/// Bytes of a page.
fn page_bytes() -> usize {
    // SAFETY: asks for a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}
