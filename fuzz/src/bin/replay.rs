//! Lists the targets, or runs one with files: `replay`, `replay TARGET [FILE|FOLDER…]`.

use headgate_fuzz::{TARGETS, corpus, find_target};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs, io};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(name) = arguments.next() else {
        for target in TARGETS {
            println!("{} {}", target.name, target.sources.join(" "));
        }
        return ExitCode::SUCCESS;
    };
    match replay(&name, arguments.map(PathBuf::from).collect()) {
        Ok(count) => {
            println!("{name}: {count} inputs");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("replay: {name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a target with the files of all paths; without any, with its corpus. Returns their number.
fn replay(name: &str, mut paths: Vec<PathBuf>) -> io::Result<usize> {
    let target = find_target(name).ok_or_else(|| io::Error::other("no target has this name"))?;
    if paths.is_empty() {
        paths.push(corpus::folder(&target));
    }
    let mut count = 0;
    for path in paths {
        let files = match path.is_dir() {
            true => corpus::read_folder(&path)?,
            false => vec![(path.clone(), fs::read(&path)?)],
        };
        for (_, input) in &files {
            (target.run)(input);
        }
        count += files.len();
    }
    Ok(count)
}
