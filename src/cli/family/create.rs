//! `headgate family new`: the definition of a family to start from, and its test cases.

use super::CommandError;
use crate::cli::new_name::parse_name;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct FamilyNewArgs {
    /// Name of the family: lower-case letters, digits, `_` and `-`, from a letter on.
    #[arg(value_parser = parse_name)]
    name: String,
    /// Folder in which the files are written.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
}

const FAMILY: &str = include_str!("templates/family.yaml.template");
const CASES: &str = include_str!("templates/cases.yaml.template");

pub fn run(args: &FamilyNewArgs) -> Result<(), CommandError> {
    let FamilyNewArgs { name, dir } = args;
    let files = files(dir, name);
    // None is written if one is there.
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(cannot_write(
            path,
            "it exists; choose another name or `--dir`",
        ));
    }
    std::fs::create_dir_all(dir).map_err(|error| cannot_write(dir, error))?;
    for (path, content) in &files {
        let opened = std::fs::File::create_new(path);
        let written = opened.and_then(|mut file| file.write_all(content.as_bytes()));
        written.map_err(|error| cannot_write(path, error))?;
    }
    let [(family, _), (cases, _)] = &files;
    let (family, cases) = (family.display(), cases.display());
    println!("created {family} and {cases}. Fill them from the vendor's documentation. Next:\n");
    println!("  headgate family check {family}");
    println!("  headgate family test {family} {cases}");
    Ok(())
}

/// The paths of the new files, with their contents.
fn files(dir: &Path, name: &str) -> [(PathBuf, String); 2] {
    [("", FAMILY), (".cases", CASES)].map(|(part, template)| {
        let file = PathBuf::from(format!("{name}{part}.yaml"));
        let path = match dir == Path::new(".") {
            true => file,
            false => dir.join(file),
        };
        (path, template.replace("NAME", name))
    })
}

fn cannot_write(path: &Path, reason: impl std::fmt::Display) -> CommandError {
    CommandError::new(format!(
        "error: {} cannot be written: {reason}",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::family::case_file;
    use crate::cli::family::cases::FamilyTestReport;
    use headgate_config::family_file;

    #[test]
    fn the_new_family_is_valid_and_passes_its_cases() {
        let [(path, family), (_, cases)] = files(Path::new("folder"), "my-video");
        let family = family_file::parse(&path, &family, None, &|_| None);
        let family = family.unwrap_or_else(|invalid| panic!("{invalid}"));
        assert_eq!(&*family.name, "my-video");
        assert_eq!(family.modes(), ["text", "first_frame"]);
        let cases = case_file::read(&cases).unwrap_or_else(|error| panic!("{error}"));
        let report = FamilyTestReport::new(&family, &cases);
        assert!(report.has_passed(), "{}", report.lines());
    }
}
