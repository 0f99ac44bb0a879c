//! Replays the corpora, and runs each target with mutated inputs.

use crate::corpus;
use crate::mutation::{InputRandom, mutate};
use crate::targets::{FuzzTarget, TARGETS};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Size of the longest file of a corpus, in bytes, which people can review.
const FILE_BYTES_MAX: usize = 4 << 10;

fn files(target: &FuzzTarget) -> Vec<Vec<u8>> {
    let folder = corpus::folder(target);
    let files = corpus::read_folder(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    assert!(!files.is_empty(), "{} has no files", folder.display());
    files.into_iter().map(|(_, content)| content).collect()
}

/// Runs a target; a failure shows the input.
fn run(target: &FuzzTarget, input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
        eprintln!("{}: the input is: {}", target.name, input.escape_ascii());
        resume_unwind(panic);
    }
}

/// The corpus of a target and mutations of it. `HEADGATE_FUZZ_SEED` selects other mutations.
fn replay_and_mutate(name: &str) {
    let target = crate::find_target(name).unwrap_or_else(|| panic!("{name} is no target"));
    let files = files(&target);
    files.iter().for_each(|input| run(&target, input));
    let seed = std::env::var("HEADGATE_FUZZ_SEED").map_or(0, |seed| seed.parse().unwrap());
    let mut random = InputRandom::new(seed);
    for _ in 0..target.mutations {
        run(&target, &mutate(&mut random, &files));
    }
}

/// A test for each target, so that they run in parallel and a failure names its target.
macro_rules! each_target {
    ($($name:ident)*) => {
        mod properties_hold_for_the_corpus_and_its_mutations {
            $(#[test] fn $name() { super::replay_and_mutate(stringify!($name)); })*
        }

        #[test]
        fn every_target_is_tested() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

each_target! {
    chunk_bodies edits expressions families forms http2 json plugin_calls request_translations requests
    responses routes schemas sse task_ids translations
}

#[test]
fn files_of_corpora_are_small() {
    for target in TARGETS {
        for input in files(target) {
            assert!(input.len() <= FILE_BYTES_MAX, "{}", target.name);
        }
    }
}
