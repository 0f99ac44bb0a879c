//! Runs programs under callgrind, which counts the instructions of all their threads without the kernel's, and what they
//! miss in simulated caches.

use super::load::Load;
use super::programs::{Program, Programs, Running};
use super::provider::Provider;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Caches of a small server: 32 KiB for instructions and for data, 8 MiB for all. Without these, valgrind takes those of the
/// machine.
const CACHES: [&str; 5] = [
    "--cache-sim=yes",
    "--branch-sim=yes",
    "--I1=32768,8,64",
    "--D1=32768,8,64",
    "--LL=8388608,16,64",
];

/// What is counted besides instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulation {
    Nothing,
    /// Misses of caches, and mispredicted branches: a run takes three times as long.
    CachesAndBranches,
}

/// What a run took.
#[derive(Clone, Copy)]
pub struct Run {
    pub instructions: f64,
    /// Zero without a simulation.
    pub misses: Misses,
    /// From the first request to the last response, and the time without load after it.
    pub seconds: f64,
}

/// What the processor waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Misses {
    /// Instructions that are not in the first cache.
    pub instructions: f64,
    /// Reads and writes of data that is not in the first cache.
    pub data: f64,
    /// What is in no cache.
    pub all_caches: f64,
    pub branches: f64,
}

/// Counts runs of these programs.
pub struct Callgrind<'p> {
    pub programs: Programs,
    pub provider: &'p Provider,
    pub simulation: Simulation,
}

impl Callgrind<'_> {
    /// A whole run, from start to end, in which the program has nothing to do for `idle` after its load.
    pub fn count(&self, program: Program, load: &Load, idle: Duration) -> Run {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        if self.simulation == Simulation::CachesAndBranches {
            valgrind.args(CACHES);
        }
        let (address, mut command) = self.programs.command(program, valgrind);
        let report = self.programs.folder().join("callgrind.log");
        let log = File::create(&report).expect("a file can be made");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut running = Running::start(command.stderr(log));
        let connection = running.connect(address);
        let begun = Instant::now();
        load.send(connection, self.provider);
        thread::sleep(idle);
        let seconds = begun.elapsed().as_secs_f64();
        running.end();
        let report = fs::read_to_string(&report).expect("the log is text");
        let counts = collected(&report)
            .unwrap_or_else(|| panic!("callgrind has counted nothing:\n{report}"));
        Run {
            instructions: counts[0],
            misses: Misses::from_counts(&counts),
            seconds,
        }
    }
}

impl Misses {
    /// From the events of callgrind: `Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim`.
    fn from_counts(counts: &[f64]) -> Self {
        let &[
            _,
            _,
            _,
            i1,
            d1_read,
            d1_written,
            ll_i,
            ll_read,
            ll_written,
            _,
            conditional,
            _,
            indirect,
        ] = counts
        else {
            return Self::default();
        };
        Self {
            instructions: i1,
            data: d1_read + d1_written,
            all_caches: ll_i + ll_read + ll_written,
            branches: conditional + indirect,
        }
    }
}

/// The counts in callgrind's report: `==PID== Collected : COUNT COUNT…`.
fn collected(report: &str) -> Option<Vec<f64>> {
    let (_, counts) = report.rsplit_once("Collected : ")?;
    let counts = counts.lines().next()?.split_whitespace();
    counts.map(|count| count.parse().ok()).collect()
}
