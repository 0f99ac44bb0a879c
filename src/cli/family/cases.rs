//! `headgate family test`: runs test cases and prints what came of each.

use super::case_file::{self, VideoFamilyCase};
use super::case_outcome::VideoFamilyCaseOutcome;
use super::{CommandError, load};
use crate::cli::case_report::CaseMismatches;
use crate::cli::input_file::read_text;
use headgate_core::task::family::VideoFamily;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct FamilyTestArgs {
    /// Path of the definition, or the name of a built-in family.
    family: String,
    /// Path of the file with the test cases [default: NAME.cases.yaml beside NAME.yaml].
    cases: Option<PathBuf>,
    /// Name of the family, if the file is a routes.yaml with several.
    #[arg(long)]
    name: Option<String>,
    /// Prints a JSON object.
    #[arg(long)]
    json: bool,
}

/// What came of all cases.
#[derive(Serialize)]
pub struct FamilyTestReport {
    passed: usize,
    failed: usize,
    cases: Vec<TestedFamilyCase>,
}

/// A case that was run.
#[derive(Serialize)]
struct TestedFamilyCase {
    name: String,
    has_passed: bool,
    mismatches: CaseMismatches,
    outcome: Map<String, Value>,
}

pub fn run(args: &FamilyTestArgs) -> Result<(), CommandError> {
    let family = load(&args.family, args.name.as_deref())?;
    let path = match &args.cases {
        Some(path) => path.clone(),
        None => Path::new(&args.family).with_extension("cases.yaml"),
    };
    let shown = path.display();
    let cases = case_file::read(&read_text(&path)?);
    let cases = cases.map_err(|error| CommandError::new(format!("error: {shown}: {error}")))?;
    let report = FamilyTestReport::new(&family, &cases);
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", report.lines()),
    }
    match report.failed {
        0 => Ok(()),
        failed => Err(CommandError::new(format!(
            "error: {failed} of {} cases of {shown} failed",
            cases.len()
        ))),
    }
}

impl FamilyTestReport {
    /// Runs the cases.
    pub fn new(family: &VideoFamily, cases: &[VideoFamilyCase]) -> Self {
        let cases = cases.iter().map(|case| {
            let outcome = VideoFamilyCaseOutcome::new(family, case);
            let mismatches = outcome.mismatches(case);
            TestedFamilyCase {
                name: case.name.clone(),
                has_passed: mismatches.0.is_empty(),
                mismatches,
                outcome: outcome.0,
            }
        });
        let cases: Vec<_> = cases.collect();
        let failed = cases.iter().filter(|case| !case.has_passed).count();
        Self {
            passed: cases.len() - failed,
            failed,
            cases,
        }
    }

    /// A line for each case, the differences of those that failed, and the counts.
    pub fn lines(&self) -> String {
        let mut lines = String::new();
        for case in &self.cases {
            let TestedFamilyCase {
                name,
                has_passed,
                mismatches,
                outcome,
            } = case;
            match has_passed {
                true => lines += &format!("ok      {name}\n"),
                false => {
                    let outcome = Value::Object(outcome.clone());
                    lines +=
                        &format!("FAILED  {name}\n{mismatches}        outcome   {outcome}\n\n");
                }
            }
        }
        lines + &format!("{} passed, {} failed\n", self.passed, self.failed)
    }

    #[cfg(test)]
    pub fn has_passed(&self) -> bool {
        self.failed == 0
    }
}
