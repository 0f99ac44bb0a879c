//! The `headgate` program.

use headgate::allocator::Mimalloc;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Mimalloc = Mimalloc;

fn main() -> ExitCode {
    Mimalloc::purge_at_once();
    headgate::cli::main()
}
