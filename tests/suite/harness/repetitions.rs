//! How often a test repeats what it does: a number of its own, or that of an environment variable.

use std::env;
use std::fmt::Debug;
use std::str::FromStr;

/// The number in the environment variable of this name, or `default` where it is not set.
pub fn repetitions<N: FromStr<Err: Debug>>(variable: &str, default: N) -> N {
    env::var(variable).map_or(default, |number| {
        let number = number.parse();
        number.unwrap_or_else(|error| panic!("{variable} must be a number: {error:?}"))
    })
}
