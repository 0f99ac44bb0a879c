//! `headgate plugin check`: the interface of a module.

use super::{CommandError, compile};
use crate::cli::input_file::read;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct PluginCheckArgs {
    /// Path of the module, a file of WebAssembly.
    module: PathBuf,
}

pub fn run(args: &PluginCheckArgs) -> Result<(), CommandError> {
    let bytes = read(&args.module)?;
    let module = compile(&args.module, &bytes)?;
    println!("module     {}", args.module.display());
    println!("abi        Proxy-Wasm {}", module.abi());
    println!("size       {} bytes", bytes.len());
    println!("sha256     {}", module.sha256());
    print_list("callbacks", module.callbacks());
    print_list("imports", module.imports());
    Ok(())
}

/// A list with its title in front of the first entry.
fn print_list(title: &str, entries: &[String]) {
    if entries.is_empty() {
        println!("{title:<10} none");
    }
    for (number, entry) in entries.iter().enumerate() {
        let title = if number == 0 { title } else { "" };
        println!("{title:<10} {entry}");
    }
}
