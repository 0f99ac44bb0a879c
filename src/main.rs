//! The `headgate` program.

mod allocator;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Mimalloc = allocator::Mimalloc;

fn main() -> ExitCode {
    allocator::Mimalloc::configure();
    headgate::cli::main()
}
