//! HTTP/1.1 responses of providers: pieces change nothing, and a connection is reused only if parsers agree on the end.

use crate::mutation::InputRandom;
use headgate_gateway::fuzzing::check_responses;

pub fn run(input: &[u8]) {
    let mut random = InputRandom::from_bytes(input);
    let sizes: [usize; 4] = std::array::from_fn(|_| 1 + random.below(40));
    for sizes in [&[1][..], &sizes] {
        if let Err(difference) = check_responses(input, sizes) {
            panic!("{difference}");
        }
    }
}
