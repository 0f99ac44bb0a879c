//! The built-in families of vendors, each with a create that the vendor takes.

use serde_json::{Value, json};

/// A vendor's family, and a create that its models take.
pub struct Vendor {
    pub family: &'static str,
    /// Below `/vendor` of the simulated provider.
    pub base: &'static str,
    pub credential: VendorCredential,
    pub model: &'static str,
    pub create: Value,
    /// Whether the family can cancel a task that is queued.
    pub cancels: bool,
}

#[derive(Clone, Copy)]
pub enum VendorCredential {
    /// The name of a header, and what stands before the key.
    Header(&'static str, &'static str),
    /// A token that the gateway mints.
    Jwt,
}

pub fn vendors() -> Vec<Vendor> {
    const BEARER: VendorCredential = VendorCredential::Header("authorization", "Bearer ");
    const TOKEN: VendorCredential = VendorCredential::Header("authorization", "Token ");
    const KEY: VendorCredential = VendorCredential::Header("authorization", "Key ");
    const GOOGLE: VendorCredential = VendorCredential::Header("x-goog-api-key", "");
    const API_KEY: VendorCredential = VendorCredential::Header("api-key", "");
    const FLUX: VendorCredential = VendorCredential::Header("x-key", "");
    let table = [
        (
            "minimax",
            "minimax",
            BEARER,
            "MiniMax-Hailuo-02",
            json!({"duration": 6, "resolution": "768p"}),
            false,
        ),
        (
            "minimax-v2",
            "minimax-v2",
            BEARER,
            "MiniMax-H3",
            json!({"duration": 6, "ratio": "16:9"}),
            true,
        ),
        (
            "runway",
            "runway",
            BEARER,
            "gen4.5",
            json!({"duration": 5, "ratio": "16:9"}),
            true,
        ),
        (
            "kling",
            "kling",
            VendorCredential::Jwt,
            "kling-v2-6",
            json!({"duration": 5, "ratio": "16:9"}),
            false,
        ),
        (
            "luma",
            "luma/dream-machine/v1",
            BEARER,
            "ray-2",
            json!({"duration": 5, "ratio": "16:9"}),
            false,
        ),
        (
            "vidu",
            "vidu",
            TOKEN,
            "viduq3-pro",
            json!({"duration": 5, "ratio": "16:9"}),
            true,
        ),
        (
            "xai",
            "xai/v1",
            BEARER,
            "grok-imagine-video",
            json!({"duration": 5, "ratio": "16:9"}),
            false,
        ),
        (
            "fal",
            "fal",
            KEY,
            "fal-ai/veo3.1",
            json!({"duration": 8, "ratio": "16:9"}),
            true,
        ),
        (
            "replicate",
            "replicate/v1",
            BEARER,
            "google/veo-3.1",
            json!({"duration": 8, "ratio": "16:9"}),
            true,
        ),
        (
            "veo",
            "veo/v1beta",
            GOOGLE,
            "veo-3.1-generate-preview",
            json!({"duration": 8, "ratio": "16:9"}),
            true,
        ),
        (
            "gemini-omni",
            "gemini-omni/v1beta",
            GOOGLE,
            "gemini-omni-1.1-flash",
            json!({"duration": 8, "ratio": "16:9"}),
            true,
        ),
        (
            "flux",
            "flux3/v1",
            FLUX,
            "flux-3-video",
            json!({"duration": 5, "ratio": "16:9"}),
            false,
        ),
        (
            "pixverse",
            "pixverse",
            API_KEY,
            "v5",
            json!({"duration": 5, "ratio": "16:9"}),
            false,
        ),
    ];
    let vendors = table.map(|(family, base, credential, model, mut create, cancels)| {
        create["prompt"] = json!("a gate");
        Vendor {
            family,
            base,
            credential,
            model,
            create,
            cancels,
        }
    });
    vendors.into()
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
