//! Measures the gateway's instructions per request and per stream event, and compares them with a committed budget.
//!
//! `budget FILE` prints each figure, its budget, and the same figure of a bare Pingora proxy, and fails if a figure
//! exceeds its budget. Instructions hardly depend on the machine's speed and load, so a test can enforce them. A figure
//! is the difference of two runs of different lengths, so that the cost of start and end cancels out.

mod callgrind;
mod load;
mod provider;

use callgrind::{Callgrind, Program};
use load::Load;
use provider::Provider;
use std::fs;
use std::process::ExitCode;

/// How far a figure may exceed its budget. Two runs of the same program differ by less than half a percent; a new
/// release of the compiler or of a dependency changes a figure by one or two percent.
const TOLERANCE: f64 = 0.03;
/// The kind of machine for which the committed budgets are valid.
const BUDGETED: (&str, &str) = ("linux", "x86_64");

/// The shorter run.
const BASE: Load = Load {
    chats: [200, 100, 100, 100, 100, 100],
    streams: 5,
    events_per_stream: 100,
};

/// A figure: its name in the budget, the longer run, and how many more requests that has.
struct Figure {
    name: &'static str,
    longer: Load,
    count: usize,
    reference: Reference,
}

/// What a figure is compared with.
#[derive(Clone, Copy)]
enum Reference {
    /// The same request through a bare Pingora proxy.
    BarePingora,
    /// The figure at this index: the same request on a route without the filter.
    Figure(usize),
}

const FIGURES: [Figure; 7] = [
    chats("chat_1_kb", 0, 1500, Reference::BarePingora),
    chats("chat_16_kb", 1, 1000, Reference::BarePingora),
    Figure {
        name: "stream_event",
        longer: Load {
            events_per_stream: BASE.events_per_stream + 1000,
            ..BASE
        },
        count: BASE.streams * 1000,
        reference: Reference::BarePingora,
    },
    chats("condition_1_kb", 2, 1000, Reference::Figure(0)),
    chats("edit_16_kb", 3, 500, Reference::Figure(1)),
    chats("callout_1_kb", 4, 500, Reference::Figure(0)),
    chats("cache_hit_1_kb", 5, 1000, Reference::Figure(0)),
];

/// The figure of one of the kinds of chat requests.
const fn chats(name: &'static str, kind: usize, count: usize, reference: Reference) -> Figure {
    Figure {
        name,
        longer: BASE.with_more_chats(kind, count),
        count,
        reference,
    }
}

fn main() -> ExitCode {
    let file = std::env::args()
        .nth(1)
        .expect("the argument is the file of budgets");
    let text = fs::read_to_string(&file).expect("the file of budgets can be read");
    // The programs are in the same folder as this one.
    let program = std::env::current_exe().expect("a program knows where it is");
    let programs = program.parent().expect("a program is in a folder");
    let provider = Provider::start();
    let callgrind = Callgrind::new(programs, &provider);
    let measured = {
        let base = callgrind.count(Program::Headgate, BASE);
        FIGURES.map(|figure| figure.of_run(callgrind.count(Program::Headgate, figure.longer), base))
    };
    let bare_base = callgrind.count(Program::BarePingora, BASE);
    println!("instructions     headgate   budget   reference   headgate / reference");
    let mut failures = Vec::new();
    for (figure, ours) in FIGURES.iter().zip(measured) {
        let name = figure.name;
        let (reference, what) = match figure.reference {
            Reference::BarePingora => {
                let run = callgrind.count(Program::BarePingora, figure.longer);
                (figure.of_run(run, bare_base), "bare Pingora")
            }
            Reference::Figure(index) => (measured[index], FIGURES[index].name),
        };
        let budget = budget_of(&text, name).unwrap_or_else(|| panic!("{file} has no line {name}"));
        let ratio = ours / reference;
        println!("{name:<14} {ours:>10.0} {budget:>8.0} {reference:>11.0}   {ratio:.2} {what}");
        let above = ours / budget - 1.0;
        if above > TOLERANCE {
            failures.push(format!(
                "{name} takes {ours:.0} instructions, {:.1} % above its budget of {budget:.0} in {file}",
                above * 100.0
            ));
        } else if above < -TOLERANCE {
            println!(
                "{name} is {:.1} % below its budget: lower it in {file}",
                -above * 100.0
            );
        }
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
        FIGURES.len() - failures.len(),
        failures.len()
    );
    ExitCode::from(u8::from(!failures.is_empty()))
}

impl Figure {
    /// The instructions of one more request or event.
    fn of_run(&self, longer: u64, base: u64) -> f64 {
        (longer - base) as f64 / self.count as f64
    }
}

/// The number after `name` in a file of lines `NAME NUMBER`; `#` begins a comment.
fn budget_of(text: &str, name: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.split('#').next()?.trim().parse().ok()
}
