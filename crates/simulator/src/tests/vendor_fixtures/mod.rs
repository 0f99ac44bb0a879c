//! What tests need to know of each vendor: requests, where answers have what, and bodies that the vendor refuses.

mod google_and_minimax;
mod hosts;
mod paths_by_mode;

use serde_json::Value;

/// One vendor's API, written from its documentation and not from the descriptions.
pub struct VendorFixture {
    pub name: &'static str,
    pub credential: (&'static str, &'static str),
    pub headers: &'static [(&'static str, &'static str)],
    pub create: &'static str,
    pub body: Value,
    pub id_at: &'static str,
    pub id_form: &'static str,
    /// With `{id}`.
    pub query: &'static str,
    /// The place of the status, and its values while queued, running, after success and after a failure.
    pub status_at: &'static str,
    pub statuses: [Value; 4],
    /// The path of the second request and the place of the value that it needs for `{}`, if there is one.
    pub result: Option<(&'static str, &'static str)>,
    pub video_at: &'static str,
    pub is_private: bool,
    /// The places of the code and the message of a failed task.
    pub failure_at: (Option<&'static str>, Option<&'static str>),
    /// A place and its value in a task that the content policy stops.
    pub filtered: (&'static str, Value),
    /// Whether an unknown status can be reported at all.
    pub has_unknown_status: bool,
    /// The status of a `429`, and a place and its value in the body.
    pub too_many: (u16, &'static str, Value),
    pub unauthorized: u16,
    pub cancel: Option<CancelFixture>,
    /// A member of the body, by its pointer, with a value that the vendor refuses; `null` removes it.
    pub refused: Vec<(&'static str, Value)>,
    /// The status of these refusals.
    pub refused_status: u16,
    /// Further paths and bodies that the vendor takes.
    pub accepted: Vec<(&'static str, Value)>,
}

/// A cancel, and its status while queued, while running and after the end.
pub struct CancelFixture {
    pub method: &'static str,
    pub path: &'static str,
    pub statuses: [u16; 3],
    /// Whether it removes a task that has ended.
    pub removes_ended: bool,
}

const BEARER: (&str, &str) = ("authorization", "Bearer sk-one");
const DIGITS: &str = "^[0-9]{18}$";
const UUID: &str = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
const IMAGE: &str = "https://media.example/1.png";
const DATA: &str = "data:image/png;base64,AAAA";

pub fn vendors() -> Vec<VendorFixture> {
    vec![
        google_and_minimax::minimax(),
        google_and_minimax::minimax_v2(),
        google_and_minimax::veo(),
        paths_by_mode::runway(),
        paths_by_mode::kling(),
        paths_by_mode::luma(),
        paths_by_mode::vidu(),
        paths_by_mode::xai(),
        hosts::fal(),
        hosts::replicate(),
        hosts::pixverse(),
        google_and_minimax::gemini_omni(),
        hosts::flux3(),
    ]
}

fn words(words: [&str; 4]) -> [Value; 4] {
    words.map(Value::from)
}
