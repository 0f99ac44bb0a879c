//! The native video APIs of vendors: each is one file that describes how the vendor writes things.
//!
//! Below `/vendor/<name>` lie the vendor's own paths. The engine that all share is `vendor_tasks`. What the vendors'
//! documentation leaves open is marked "not confirmed".

pub mod body_rules;
pub mod callback_keys;
pub mod descriptor;
mod fal;
mod flux3;
mod gemini_omni;
mod kling;
mod luma;
mod minimax;
mod minimax_v2;
mod pixverse;
mod replicate;
mod runway;
mod veo;
mod vidu;
mod xai;

pub use veo::GOOGLE_KEY;

use descriptor::{VendorApi, VendorOperation};

const PREFIX: &str = "/vendor/";

static VENDORS: [&VendorApi; 13] = [
    &minimax::API,
    &minimax_v2::API,
    &veo::API,
    &runway::API,
    &kling::API,
    &luma::API,
    &vidu::API,
    &xai::API,
    &fal::API,
    &replicate::API,
    &pixverse::API,
    &gemini_omni::API,
    &flux3::API,
];

/// The API below whose prefix `path` lies, and the vendor's own path without its first slash.
pub fn find(path: &str) -> Option<(&'static VendorApi, &str)> {
    let (name, own) = path.strip_prefix(PREFIX)?.split_once('/')?;
    let api = VENDORS.into_iter().find(|api| api.name == name)?;
    Some((api, own))
}

/// The operation of a request to a vendor's API.
pub fn operation<'p>(api: &VendorApi, method: &str, own: &'p str) -> Option<VendorOperation<'p>> {
    let segments: Vec<&str> = own.split('/').collect();
    match (method, segments.as_slice()) {
        ("GET" | "HEAD", ["signed", name]) => Some(VendorOperation::SignedVideo(name)),
        _ => (api.route)(method, &segments, own),
    }
}

/// The names of all vendors.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    VENDORS.into_iter().map(|api| api.name)
}
