//! The list of fuzz targets; each is a file in the folder `targets`.

mod sse;

/// A function that takes any bytes, and panics if a property does not hold.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// Also the name of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// The sources under test, whose coverage counts: paths of files and folders from the root of the repository.
    pub sources: &'static [&'static str],
    /// Number of mutated inputs in each run of the tests; a slow target has fewer.
    pub mutations: u32,
    pub run: fn(&[u8]),
}

/// All targets, in alphabetical order.
pub const TARGETS: &[FuzzTarget] = &[FuzzTarget {
    name: "sse",
    sources: &["crates/protocol/src/sse.rs", "crates/protocol/src/sse/"],
    mutations: 2000,
    run: sse::run,
}];

/// The target of this name.
pub fn find_target(name: &str) -> Option<FuzzTarget> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
