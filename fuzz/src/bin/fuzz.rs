//! Runs the target that `HEADGATE_FUZZ_TARGET` names under libFuzzer, whose options and folders are the arguments.

#![no_main]

use headgate_fuzz::{FuzzTarget, find_target};
use std::sync::LazyLock;

static TARGET: LazyLock<FuzzTarget> = LazyLock::new(|| {
    let name = std::env::var("HEADGATE_FUZZ_TARGET").unwrap_or_default();
    find_target(&name).unwrap_or_else(|| panic!("HEADGATE_FUZZ_TARGET names no target: `{name}`"))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.run)(input));
