//! `headgate --version`: the version, the commit of the build, its profile and the features that it has.

use std::sync::LazyLock;

/// The features of the build, in the order of Cargo.toml.
const FEATURES: [(&str, bool); 5] = [
    ("convert", cfg!(feature = "convert")),
    ("otlp", cfg!(feature = "otlp")),
    ("simulator", cfg!(feature = "simulator")),
    ("top", cfg!(feature = "top")),
    ("wasm", cfg!(feature = "wasm")),
];

/// The text after the name of the program: `0.1.0 (4169327, features: convert otlp simulator top wasm)`. A debug build outside of a
/// package has `debug build` in place of the commit. One of `make pgo` has the digest of its profile: `(4169327, profile
/// 9f2c1e04ab37, features: …)`.
pub static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    let unknown = match cfg!(debug_assertions) {
        true => "debug build",
        false => "unknown commit",
    };
    let commit = option_env!("HEADGATE_COMMIT").unwrap_or(unknown);
    let profile = option_env!("HEADGATE_PROFILE");
    let profile = profile.map_or_else(String::new, |digest| format!(", profile {digest}"));
    let features = FEATURES.iter().filter(|(_, is_built)| *is_built);
    let names: Vec<_> = features.map(|(name, _)| *name).collect();
    match names.is_empty() {
        true => format!("{version} ({commit}{profile}, no features)"),
        false => format!(
            "{version} ({commit}{profile}, features: {})",
            names.join(" ")
        ),
    }
});
