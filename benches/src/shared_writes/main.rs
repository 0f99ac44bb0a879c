//! Counts the atomic writes of one chat, and those to cache lines that two workers of the gateway write.
//!
//! `shared-writes [--programs FOLDER]` starts the gateway of the folder (that of this program, if none is given) with two
//! workers, warms one connection of each, and single-steps each worker through one chat of 1 KB. What both write with an
//! atomic instruction within one line of 64 bytes is shared: with more workers, such a line moves from processor to
//! processor with every request.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod atomic_write;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod chat_client;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod gateway;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod measurement;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stepped_thread;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod symbols;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let programs = match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => std::env::current_exe()
            .ok()
            .and_then(|own| own.parent().map(PathBuf::from)),
        (Some("--programs"), Some(folder)) => Some(folder.into()),
        _ => None,
    };
    let Some(programs) = programs else {
        eprintln!("usage: shared-writes [--programs FOLDER]");
        return ExitCode::FAILURE;
    };
    match measure(programs) {
        Ok(table) => {
            println!("{table}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn measure(programs: PathBuf) -> Result<String, String> {
    measurement::measure(&programs).map(|chats| table::table(&chats))
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn measure(_programs: PathBuf) -> Result<String, String> {
    Err("atomic writes are counted on Linux on x86_64 only".into())
}
