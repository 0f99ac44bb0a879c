//! The names of functions and statics of a running program, as `nm` lists them.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Symbols in the order of their addresses in the file.
pub struct Symbols {
    names: Vec<(u64, String)>,
    /// Where the program is in memory.
    begin: u64,
    end: u64,
}

impl Symbols {
    /// The symbols of `program`, which runs as `process`.
    ///
    /// # Errors
    /// `nm` is missing, or the program has none.
    pub fn load(program: &Path, process: libc::pid_t) -> Result<Self, String> {
        let mut command = Command::new("nm");
        command.args(["-C", "-n", "--defined-only"]).arg(program);
        let output = command.output();
        let output = output.map_err(|error| format!("nm, which is in binutils: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names: Vec<_> = text.lines().filter_map(symbol).collect();
        if names.is_empty() {
            return Err(format!("{} has no symbols", program.display()));
        }
        let (begin, end) = place_in_memory(program, process)?;
        Ok(Self { names, begin, end })
    }

    /// The function at this address; `None` outside of the program.
    pub fn function(&self, at: u64) -> Option<&str> {
        if !(self.begin..self.end).contains(&at) {
            return None;
        }
        let offset = at - self.begin;
        let next = self.names.partition_point(|(begin, _)| *begin <= offset);
        let (_, name) = self.names.get(next.checked_sub(1)?)?;
        Some(name)
    }

    /// The static at this address, or `memory`.
    pub fn place(&self, at: u64) -> String {
        self.function(at).unwrap_or("memory").into()
    }
}

/// A line such as `00000000000a1b20 t core::fmt::write`, without the hash of the name.
fn symbol(line: &str) -> Option<(u64, String)> {
    let (address, rest) = line.split_once(' ')?;
    let (_, name) = rest.split_once(' ')?;
    let name = match name.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 => name,
        _ => name,
    };
    Some((u64::from_str_radix(address, 16).ok()?, name.into()))
}

/// The first address of the program in memory, and the one behind it.
fn place_in_memory(program: &Path, process: libc::pid_t) -> Result<(u64, u64), String> {
    let program = fs::canonicalize(program).map_err(|error| error.to_string())?;
    let program = program.to_string_lossy();
    let maps = format!("/proc/{process}/maps");
    let maps = fs::read_to_string(&maps).map_err(|error| format!("{maps}: {error}"))?;
    let mut own = maps.lines().filter(|line| line.ends_with(&*program));
    let range = |line: &str| {
        let (begin, rest) = line.split_once('-')?;
        let (end, _) = rest.split_once(' ')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some((number(begin)?, number(end)?))
    };
    let first = own.next().and_then(range);
    let (begin, first_end) = first.ok_or("the program is not in memory")?;
    let last_end = own.last().and_then(range).map_or(first_end, |last| last.1);
    // Zeroed statics follow the last page of the file.
    const ZEROED_BYTES_MAX: u64 = 1 << 20;
    Ok((begin, last_end + ZEROED_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::symbol;

    #[test]
    fn a_line_of_nm_is_an_address_and_a_name() {
        for (line, expected) in [
            (
                "0000000000000a10 t core::fmt::write::h0123456789abcdef",
                Some((0xa10, "core::fmt::write")),
            ),
            ("0000000000000a20 B static", Some((0xa20, "static"))),
            ("                 U malloc", None),
        ] {
            let expected = expected.map(|(at, name): (u64, &str)| (at, name.to_owned()));
            assert_eq!(symbol(line), expected, "{line}");
        }
    }
}
