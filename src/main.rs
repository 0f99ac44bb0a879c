//! The `headgate` program.

use headgate::memory::allocator::Mimalloc;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Mimalloc = Mimalloc;

fn main() -> ExitCode {
    headgate::cli::main()
}
