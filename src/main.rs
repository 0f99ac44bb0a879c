//! The `headgate` program.

use std::process::ExitCode;

/// Gives memory back after a burst of large bodies, which the system's allocator does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    headgate::cli::main()
}
