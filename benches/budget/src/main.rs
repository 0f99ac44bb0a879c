//! Measures the gateway's instructions per request and per stream event, and compares them with a committed budget.
//!
//! `headgate-budget FILE` prints each figure, its budget, and the same figure of a bare Pingora proxy, and fails if a figure
//! exceeds its budget. Instructions hardly depend on the machine's speed and load, so a test can enforce them. A figure
//! is the difference of two runs of different lengths, so that the cost of start and end cancels out.
//!
//! `headgate-budget FILE --report MARKDOWN` also writes the figures into that file. `headgate-budget FILE --plugins
//! FOLDER` counts routes with the plugins of that folder instead, which have no budget.

mod callgrind;
mod load;
mod provider;

use callgrind::{Callgrind, Program};
use headgate_budget::report::publish;
use load::Load;
use provider::Provider;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// How far a figure may exceed its budget. Two runs of the same program differ by less than half a percent on an idle
/// machine; a new release of the compiler or of a dependency changes a figure by one or two percent.
const TOLERANCE: f64 = 0.03;
/// The kind of machine for which the committed budgets are valid.
const BUDGETED: (&str, &str) = ("linux", "x86_64");

const HEADING: &str = "\
| instructions in user space | Headgate | budget | reference | ratio |
|---|---|---|---|---|
";

/// The shorter run.
const BASE: Load = Load {
    requests: [200, 100, 100, 100, 100, 100, 0, 0, 0, 0],
    streams: [STREAMS, 0],
    events_per_stream: [100, 100],
};
/// The shorter run of creates of videos.
const VIDEO_BASE: Load = Load {
    requests: [0, 0, 0, 0, 0, 0, 0, 0, 50, 50],
    streams: [0, 0],
    events_per_stream: [0, 0],
};
/// The shorter run with plugins.
const PLUGIN_BASE: Load = Load {
    requests: [200, 100, 0, 0, 0, 0, 100, 100, 0, 0],
    streams: [STREAMS, STREAMS],
    events_per_stream: [100, 100],
};
const STREAMS: usize = 5;
const MORE_EVENTS: usize = 1000;

/// A figure: its name in the budget, what the longer run has more of, and how much more.
struct Figure {
    name: &'static str,
    program: Program,
    of: Counted,
    count: usize,
    reference: Reference,
}

/// What a figure counts: one of [`load::REQUEST_KINDS`], or the events of one of [`load::STREAM_PATHS`].
#[derive(Clone, Copy)]
enum Counted {
    Request(usize),
    Event(usize),
}

/// What a figure is compared with.
#[derive(Clone, Copy)]
enum Reference {
    /// The same request through a bare Pingora proxy.
    BarePingora,
    /// The figure at this index: the same request on a route without the filter.
    Figure(usize),
}

const FIGURES: [Figure; 10] = [
    requests("chat_1_kb", 0, 1500, Reference::BarePingora),
    requests("chat_16_kb", 1, 1000, Reference::BarePingora),
    events("stream_event", 0, Reference::BarePingora),
    requests("condition_1_kb", 2, 1000, Reference::Figure(0)),
    requests("edit_16_kb", 3, 500, Reference::Figure(1)),
    requests("callout_1_kb", 4, 500, Reference::Figure(0)),
    requests("cache_hit_1_kb", 5, 1000, Reference::Figure(0)),
    videos("video_create", 8),
    videos("video_create_computed", 9),
    Figure {
        program: Program::TracingHeadgate,
        ..requests("traced_1_kb", 0, 1500, Reference::Figure(0))
    },
];

/// What plugins cost. They have no budget, since a program with plugins takes minutes longer to build.
const PLUGIN_FIGURES: [Figure; 6] = [
    requests("chat_1_kb", 0, 1000, Reference::BarePingora),
    requests("chat_16_kb", 1, 500, Reference::BarePingora),
    events("stream_event", 0, Reference::BarePingora),
    requests("plugin_headers_1_kb", 6, 1000, Reference::Figure(0)),
    requests("plugin_bodies_16_kb", 7, 500, Reference::Figure(1)),
    events("plugin_stream_event", 1, Reference::Figure(2)),
];

/// The figure of one of the kinds of requests.
const fn requests(name: &'static str, kind: usize, count: usize, reference: Reference) -> Figure {
    Figure {
        name,
        program: Program::Headgate,
        of: Counted::Request(kind),
        count,
        reference,
    }
}

/// The figure of creates of videos with one of the models.
const fn videos(name: &'static str, kind: usize) -> Figure {
    Figure {
        program: Program::VideoHeadgate,
        ..requests(name, kind, 300, Reference::Figure(0))
    }
}

/// The figure of the events of one of the kinds of streams.
const fn events(name: &'static str, kind: usize, reference: Reference) -> Figure {
    Figure {
        name,
        program: Program::Headgate,
        of: Counted::Event(kind),
        count: STREAMS * MORE_EVENTS,
        reference,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, report, plugins) = match &arguments[..] {
        [file] => (file, None, None),
        [file, option, path] if option == "--report" => (file, Some(Path::new(path)), None),
        [file, option, path] if option == "--plugins" => (file, None, Some(Path::new(path))),
        _ => panic!("usage: headgate-budget FILE [--report MARKDOWN | --plugins FOLDER]"),
    };
    let text = fs::read_to_string(file).expect("the file of budgets can be read");
    let (figures, base) = match plugins {
        None => (&FIGURES[..], BASE),
        Some(_) => (&PLUGIN_FIGURES[..], PLUGIN_BASE),
    };
    let measured = measure(figures, base, plugins);
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
            assert!(plugins.is_some(), "{file} has no line {name}");
            continue;
        };
        let above = ours / budget - 1.0;
        if above > TOLERANCE {
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
    publish(report, "instructions", &table);
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
    what: &'static str,
}

fn measure(figures: &[Figure], base: Load, plugins: Option<&Path>) -> Vec<Measurement> {
    // The programs are in the same folder as this one.
    let program = std::env::current_exe().expect("a program knows where it is");
    let programs = program.parent().expect("a program is in a folder");
    let provider = Provider::start();
    let callgrind = Callgrind::new(programs, &provider, plugins);
    if plugins.is_some() {
        // The first start compiles the plugins.
        callgrind.count(Program::Headgate, base);
    }
    let mut shorter_runs = HashMap::new();
    let mut counted = |program: Program, figure: &Figure| {
        let base = match program {
            Program::VideoHeadgate => VIDEO_BASE,
            _ => base,
        };
        let shorter = *shorter_runs
            .entry(program)
            .or_insert_with(|| callgrind.count(program, base));
        let longer = callgrind.count(program, figure.longer(base));
        (longer - shorter) as f64 / figure.count as f64
    };
    let ours: Vec<f64> = figures
        .iter()
        .map(|figure| counted(figure.program, figure))
        .collect();
    let references = figures.iter().map(|figure| match figure.reference {
        Reference::BarePingora => (counted(Program::BarePingora, figure), "bare Pingora"),
        Reference::Figure(index) => (ours[index], figures[index].name),
    });
    let pairs = ours.iter().zip(references);
    let measurements = pairs.map(|(ours, (reference, what))| Measurement {
        ours: *ours,
        reference,
        what,
    });
    measurements.collect()
}

impl Figure {
    fn longer(&self, base: Load) -> Load {
        match self.of {
            Counted::Request(kind) => base.with_more_requests(kind, self.count),
            Counted::Event(kind) => base.with_more_events(kind, MORE_EVENTS),
        }
    }
}

/// The number after `name` in a file of lines `NAME NUMBER`; `#` begins a comment.
fn read_budget(text: &str, name: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.split('#').next()?.trim().parse().ok()
}
