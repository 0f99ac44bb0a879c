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
    chats_1_kb: 200,
    chats_16_kb: 100,
    streams: 5,
    events_per_stream: 100,
};

/// A figure: its name in the budget, the longer run, and how many more requests that has.
struct Figure {
    name: &'static str,
    longer: Load,
    count: usize,
}

const FIGURES: [Figure; 3] = [
    Figure {
        name: "chat_1_kb",
        longer: Load {
            chats_1_kb: BASE.chats_1_kb + 1500,
            ..BASE
        },
        count: 1500,
    },
    Figure {
        name: "chat_16_kb",
        longer: Load {
            chats_16_kb: BASE.chats_16_kb + 1000,
            ..BASE
        },
        count: 1000,
    },
    Figure {
        name: "stream_event",
        longer: Load {
            events_per_stream: BASE.events_per_stream + 1000,
            ..BASE
        },
        count: BASE.streams * 1000,
    },
];

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
    let figures = |program| {
        let base = callgrind.count(program, BASE);
        FIGURES.map(|figure| {
            let more = callgrind.count(program, figure.longer) - base;
            more as f64 / figure.count as f64
        })
    };
    let (ours, bare) = (figures(Program::Headgate), figures(Program::BarePingora));
    println!("instructions     headgate   budget   bare pingora   headgate / bare pingora");
    let mut failures = Vec::new();
    for (index, Figure { name, .. }) in FIGURES.iter().enumerate() {
        let (ours, bare) = (ours[index], bare[index]);
        let budget = budget_of(&text, name).unwrap_or_else(|| panic!("{file} has no line {name}"));
        let ratio = ours / bare;
        println!("{name:<14} {ours:>10.0} {budget:>8.0} {bare:>14.0}   {ratio:.2}");
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

/// The number after `name` in a file of lines `NAME NUMBER`; `#` begins a comment.
fn budget_of(text: &str, name: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.split('#').next()?.trim().parse().ok()
}
