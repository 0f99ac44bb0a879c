//! Ends the process with a message where standard output cannot be written, such as on a full disk.

use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::process;

/// How the standard library begins the panic of a `print!` that fails.
const FAILED_PRINT: &str = "failed printing to stdout";

/// Replaces the panic of a failed `print!` by one line on standard error and exit code 1. Other panics stay as they are.
pub fn end_instead_of_panic() {
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| match failed_print(panicked) {
        Some(reason) => {
            let _ = writeln!(
                io::stderr(),
                "headgate: cannot write to standard output{reason}"
            );
            process::exit(1);
        }
        None => others(panicked),
    }));
}

/// The reason of a failed `print!`, such as `: No space left on device (os error 28)`.
fn failed_print<'a>(panicked: &'a PanicHookInfo<'_>) -> Option<&'a str> {
    panicked.payload_as_str()?.strip_prefix(FAILED_PRINT)
}
