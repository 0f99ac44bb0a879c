//! Measures the gateway's instructions per request and per stream event, and compares them with a committed budget.
//!
//! `headgate-budget FILE` prints each figure, its budget, and the same figure of a bare Pingora proxy, and fails if a figure
//! exceeds its budget. Instructions hardly depend on the machine's speed and load, so a test can enforce them. A figure
//! is the difference of two runs of different lengths, so that the cost of start and end cancels out. What a program does
//! by the clock, such as its look for work to continue, is measured without load and subtracted by the runs' time: a slow machine has more of it.
//!
//! `headgate-budget FILE --report MARKDOWN` also writes the figures into that file. `headgate-budget FILE --plugins
//! FOLDER` counts routes with the plugins of that folder instead, and `headgate-budget FILE --translation` each translation
//! between two protocols; those have no budget but one. `--translation MARKDOWN` also writes these figures into that file.
//!
//! `headgate-budget --misses [MARKDOWN]` counts what requests miss in simulated caches, and `headgate-budget --train PROGRAMS
//! CERTIFICATES` sends the load of `make profile`.

mod cache_misses;
mod callgrind;
mod difference_counter;
mod figures;
mod load;
mod programs;
mod provider;
mod shorter_run;
mod training;

use callgrind::{Callgrind, Simulation};
use difference_counter::DifferenceCounter;
use figures::{Figure, Reference, base};
use headgate_budget::report::publish;
use programs::{Program, Programs};
use provider::Provider;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How far a figure may exceed its budget. Two runs of the same program differ by less than half a percent on an idle
/// machine; a new release of the compiler or of a dependency changes a figure by one or two percent.
const TOLERANCE: f64 = 0.03;
/// How often a figure that exceeds its budget is counted again.
const RECOUNTS_MAX: usize = 2;
/// The kind of machine for which the committed budgets are valid.
const BUDGETED: (&str, &str) = ("linux", "x86_64");

const HEADING: &str = "\
| instructions in user space | Headgate | budget | reference | ratio |
|---|---|---|---|---|
";

/// Which figures are counted.
enum Mode<'a> {
    /// Those with a budget.
    Budget,
    /// Those of routes with the plugins of a folder.
    Plugins(&'a Path),
    /// Those of translations.
    Translation,
}

const USAGE: &str = "\
usage: headgate-budget FILE [--report MARKDOWN | --plugins FOLDER | --translation [MARKDOWN]]
       headgate-budget --misses [MARKDOWN]
       headgate-budget --train PROGRAMS CERTIFICATES";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, report, mode) = match &arguments[..] {
        [option, rest @ ..] if option == "--misses" && rest.len() < 2 => {
            let table = cache_misses::measure(&programs_of_build());
            publish(rest.first().map(Path::new), "misses", &table);
            return ExitCode::SUCCESS;
        }
        [option, programs, certificates] if option == "--train" => {
            training::train(Path::new(programs), Path::new(certificates));
            return ExitCode::SUCCESS;
        }
        [file] => (file, None, Mode::Budget),
        [file, option] if option == "--translation" => (file, None, Mode::Translation),
        [file, option, path] if option == "--report" => (file, Some(Path::new(path)), Mode::Budget),
        [file, option, path] if option == "--translation" => {
            (file, Some(Path::new(path)), Mode::Translation)
        }
        [file, option, path] if option == "--plugins" => {
            (file, None, Mode::Plugins(Path::new(path)))
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    compare(file, report, &mode)
}

/// Compares figures with the budgets of `file`, and fails if one exceeds its budget.
fn compare(file: &str, report: Option<&Path>, mode: &Mode<'_>) -> ExitCode {
    let text = fs::read_to_string(file).expect("the file of budgets can be read");
    let (figures, plugins) = match mode {
        Mode::Budget => (figures::with_budget(), None),
        Mode::Plugins(folder) => (figures::with_plugins(), Some(*folder)),
        Mode::Translation => (figures::with_translation(), None),
    };
    let needs_budget = matches!(mode, Mode::Budget);
    let exceeds = |figure: &Figure, ours: f64| {
        let budget = read_budget(&text, &figure.name);
        budget.is_some_and(|budget| is_above(ours, budget))
    };
    let measured = measure(&figures, plugins, exceeds);
    let mut table = HEADING.to_owned();
    let (mut failures, mut notes) = (Vec::new(), Vec::new());
    for (Figure { name, .. }, measured) in figures.iter().zip(&measured) {
        let Measurement {
            ours,
            reference,
            what,
        } = measured;
        let budget = read_budget(&text, name);
        let shown = budget.map_or_else(|| "-".to_owned(), |budget| budget.to_string());
        let ratio = ours / reference;
        table.push_str(&format!(
            "| {name} | {ours:.0} | {shown} | {reference:.0} ({what}) | {ratio:.2} |\n"
        ));
        let Some(budget) = budget else {
            assert!(!needs_budget, "{file} has no line {name}");
            continue;
        };
        let above = ours / budget - 1.0;
        if is_above(*ours, budget) {
            failures.push(format!(
                "{name} takes {ours:.0} instructions, {:.1} % above its budget of {budget:.0} in {file}",
                above * 100.0
            ));
        } else if above < -TOLERANCE {
            notes.push(format!(
                "{name} is {:.1} % below its budget: lower it in {file}",
                -above * 100.0
            ));
        }
    }
    let section = match mode {
        Mode::Translation => "instructions of translations",
        Mode::Budget | Mode::Plugins(_) => "instructions",
    };
    publish(report, section, &table);
    for note in notes {
        println!("{note}");
    }
    if (std::env::consts::OS, std::env::consts::ARCH) != BUDGETED {
        println!("not compared: the budgets are those of {BUDGETED:?}");
        failures.clear();
    }
    for failure in &failures {
        println!("failed: {failure}");
    }
    println!(
        "{} passed, {} failed",
        figures.len() - failures.len(),
        failures.len()
    );
    ExitCode::from(u8::from(!failures.is_empty()))
}

/// The instructions of one more request or event, and those of what it is compared with.
struct Measurement {
    ours: f64,
    reference: f64,
    what: String,
}

/// The folder of this program, where the measured ones are, too.
fn programs_of_build() -> PathBuf {
    let program = std::env::current_exe().expect("a program knows where it is");
    program.parent().expect("a program is in a folder").into()
}

fn is_above(ours: f64, budget: f64) -> bool {
    ours / budget - 1.0 > TOLERANCE
}

/// Counts all figures. One that exceeds its budget is counted again, and the lowest count is taken: beside other load a program
/// reads a large body in another number of pieces.
fn measure(
    figures: &[Figure],
    plugins: Option<&Path>,
    exceeds: impl Fn(&Figure, f64) -> bool,
) -> Vec<Measurement> {
    let provider = Provider::start();
    let callgrind = Callgrind {
        programs: Programs::new(&programs_of_build(), &provider, plugins),
        provider: &provider,
        simulation: Simulation::Nothing,
    };
    if plugins.is_some() {
        // The first start compiles the plugins.
        let load = base(figures, Program::Headgate);
        callgrind.count(Program::Headgate, &load, Duration::ZERO);
    }
    let mut counter = DifferenceCounter::new(callgrind, figures);
    let ours: Vec<f64> = figures
        .iter()
        .map(|figure| {
            let mut own = counter.count(figure.program, figure);
            for _ in 0..RECOUNTS_MAX {
                if exceeds(figure, own) {
                    own = own.min(counter.recount(figure.program, figure));
                }
            }
            own
        })
        .collect();
    let pairs = figures.iter().zip(&ours);
    let measurements = pairs.map(|(figure, own)| {
        let (reference, what) = match figure.reference {
            Reference::BarePingora => {
                let count = counter.count(Program::BarePingora, figure);
                (count, "bare Pingora")
            }
            Reference::Figure(index) => (ours[index], figures[index].name.as_str()),
            Reference::Itself => (*own, "itself"),
        };
        Measurement {
            ours: *own,
            reference,
            what: what.to_owned(),
        }
    });
    measurements.collect()
}

/// The number after `name` in a file of lines `NAME NUMBER`; `#` begins a comment.
fn read_budget(text: &str, name: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.split('#').next()?.trim().parse().ok()
}
