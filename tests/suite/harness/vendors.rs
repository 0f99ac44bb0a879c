//! The built-in families of vendors, each with a create that the vendor takes, and with what the vendor can do to its task.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// A vendor's family, and a create that its models take.
pub struct Vendor {
    pub family: &'static str,
    /// Below `/vendor` of the simulated provider.
    pub base: &'static str,
    pub credential: VendorCredential,
    pub model: &'static str,
    pub create: Value,
    pub cancels: VendorCancels,
    pub callbacks: VendorCallbacks,
    /// Whether only the channel's credential opens the video.
    pub has_private_videos: bool,
    /// The vendor's code for too many requests, if its family reads the code and not the status.
    pub rate_limit_code: Option<&'static str>,
    /// Whether the vendor states errors under status 200.
    pub has_errors_in_200: bool,
}

#[derive(Clone, Copy)]
pub enum VendorCredential {
    /// The name of a header, and what stands before the key.
    Header(&'static str, &'static str),
    /// A token that the gateway mints.
    Jwt,
}

/// The tasks that a family can cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorCancels {
    Never,
    Queued,
    QueuedAndRunning,
}

/// How a vendor calls back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorCallbacks {
    Never,
    Unsigned,
    /// Unsigned, once the receiver has returned a challenge.
    AfterChallenge,
    Signed,
}

pub fn vendors() -> Vec<Vendor> {
    use VendorCallbacks::{AfterChallenge, Signed, Unsigned};
    use VendorCancels::{Queued, QueuedAndRunning};
    const TOKEN: VendorCredential = VendorCredential::Header("authorization", "Token ");
    const KEY: VendorCredential = VendorCredential::Header("authorization", "Key ");
    const GOOGLE: VendorCredential = VendorCredential::Header("x-goog-api-key", "");
    const API_KEY: VendorCredential = VendorCredential::Header("api-key", "");
    const FLUX: VendorCredential = VendorCredential::Header("x-key", "");
    vec![
        Vendor {
            create: create(6, "resolution", "768p"),
            callbacks: AfterChallenge,
            has_errors_in_200: true,
            ..vendor("minimax", "minimax", "MiniMax-Hailuo-02")
        },
        Vendor {
            create: create(6, "ratio", "16:9"),
            cancels: Queued,
            callbacks: AfterChallenge,
            ..vendor("minimax-v2", "minimax-v2", "MiniMax-H3")
        },
        Vendor {
            cancels: QueuedAndRunning,
            ..vendor("runway", "runway", "gen4.5")
        },
        Vendor {
            credential: VendorCredential::Jwt,
            callbacks: Unsigned,
            has_errors_in_200: true,
            ..vendor("kling", "kling", "kling-v2-6")
        },
        Vendor {
            callbacks: Unsigned,
            ..vendor("luma", "luma/dream-machine/v1", "ray-2")
        },
        Vendor {
            credential: TOKEN,
            cancels: Queued,
            callbacks: Unsigned,
            ..vendor("vidu", "vidu", "viduq3-pro")
        },
        vendor("xai", "xai/v1", "grok-imagine-video"),
        Vendor {
            credential: KEY,
            create: create(8, "ratio", "16:9"),
            cancels: QueuedAndRunning,
            callbacks: Signed,
            ..vendor("fal", "fal", "fal-ai/veo3.1")
        },
        Vendor {
            create: create(8, "ratio", "16:9"),
            cancels: QueuedAndRunning,
            callbacks: Signed,
            ..vendor("replicate", "replicate/v1", "google/veo-3.1")
        },
        Vendor {
            credential: GOOGLE,
            create: create(8, "ratio", "16:9"),
            cancels: QueuedAndRunning,
            has_private_videos: true,
            ..vendor("veo", "veo/v1beta", "veo-3.1-generate-preview")
        },
        Vendor {
            credential: GOOGLE,
            create: create(8, "ratio", "16:9"),
            cancels: QueuedAndRunning,
            callbacks: Unsigned,
            has_private_videos: true,
            ..vendor("gemini-omni", "gemini-omni/v1beta", "gemini-omni-1.1-flash")
        },
        Vendor {
            credential: FLUX,
            ..vendor("flux", "flux3/v1", "flux-3-video")
        },
        Vendor {
            credential: API_KEY,
            rate_limit_code: Some("500044"),
            has_errors_in_200: true,
            ..vendor("pixverse", "pixverse", "v5")
        },
    ]
}

fn vendor(family: &'static str, base: &'static str, model: &'static str) -> Vendor {
    Vendor {
        family,
        base,
        credential: VendorCredential::Header("authorization", "Bearer "),
        model,
        create: create(5, "ratio", "16:9"),
        cancels: VendorCancels::Never,
        callbacks: VendorCallbacks::Never,
        has_private_videos: false,
        rate_limit_code: None,
        has_errors_in_200: false,
    }
}

fn create(duration: u32, field: &str, value: &str) -> Value {
    json!({"prompt": "a gate", "duration": duration, field: value})
}

/// The reasons why a family has no case of a column, by family and column.
pub fn reasons_for_missing_columns() -> BTreeMap<String, BTreeMap<String, String>> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/families/columns.yaml"
    );
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

impl VendorCredential {
    pub fn config(self) -> Value {
        match self {
            Self::Header(name, before) => {
                json!({"header": {"name": name, "value": format!("{before}vendor-key")}})
            }
            // The secret key that the stub knows for the access key.
            Self::Jwt => json!({"jwt": {"issuer": "vendor-key", "secret": "vendor-key-secret"}}),
        }
    }
}
