//! Task ids and tokens: what was sealed opens as it was, and nothing else opens.
//!
//! An input has the fields of a task, one a line.

use crate::mutation::InputRandom;
use headgate_task::id::{PREFIX, TaskId, TaskIdKey, TaskIdKeyRing, in_lower_case};
use headgate_task::requested_format::RequestedVideoFormat;
use headgate_task::token::UrlTokenPurpose;
use std::sync::LazyLock;

/// Longest fields together, in bytes, of which each has two characters in an id of lower-case letters.
const FIELDS_BYTES_MAX: usize = 3 << 10;
/// What task ids are sealed for.
const PURPOSE: &[u8] = b"headgate task id";

static KEYS: LazyLock<TaskIdKeyRing> = LazyLock::new(|| ring(&["a", "b"]));
static OTHER_KEYS: LazyLock<TaskIdKeyRing> = LazyLock::new(|| ring(&["c"]));

fn ring(letters: &[&str]) -> TaskIdKeyRing {
    let key = |letter: &&str| TaskIdKey::new(&letter.repeat(40)).expect("the key is long enough");
    let mut keys = letters.iter().map(key);
    let first = keys.next().expect("there is a first key");
    TaskIdKeyRing::new(first, keys.collect())
}

pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    assert!(KEYS.open(&text).is_err() && KEYS.open(&format!("{PREFIX}{text}")).is_err());
    if text.len() > FIELDS_BYTES_MAX {
        return;
    }
    let task = read_task(&text);
    let id = KEYS.seal(&task);
    assert_eq!(KEYS.open(&id).as_ref(), Ok(&task));
    assert_eq!(KEYS.open(&in_lower_case(&id)).as_ref(), Ok(&task));
    assert_eq!(KEYS.open_for(&task.caller, &id).as_ref(), Ok(&task));
    assert!(KEYS.open_for(&format!("{}x", task.caller), &id).is_err());
    assert!(OTHER_KEYS.open(&id).is_err());
    let mut random = InputRandom::from_bytes(input);
    for id in [&id, &in_lower_case(&id)] {
        check_forgeries(&mut random, id);
    }
    check_contents(input);
    check_tokens(&mut random, input);
}

/// A task whose fields are the lines of a text.
fn read_task(text: &str) -> TaskId {
    let mut lines = text.lines().map(str::to_owned);
    let mut next = || lines.next().unwrap_or_default();
    let [caller, channel, model, upstream, family] = std::array::from_fn(|_| next());
    let [credential, created] = std::array::from_fn(|_| next().parse().unwrap_or(7));
    let [ratio, seconds, size, query_url] =
        std::array::from_fn(|_| Some(next()).filter(|text| !text.is_empty()));
    TaskId {
        caller,
        channel,
        credential,
        model,
        created,
        ratio,
        upstream,
        family,
        requested: RequestedVideoFormat { seconds, size },
        query_url,
    }
}

/// No other text of nearly the same bytes opens.
fn check_forgeries(random: &mut InputRandom, id: &str) {
    let at = random.below(id.len());
    let mut forged = id.as_bytes().to_vec();
    forged[at] ^= 1 << random.below(7);
    let cut = id.as_bytes()[..at].to_vec();
    let longer = [id.as_bytes(), &[b'a' + (at % 26) as u8]].concat();
    for forged in [forged, cut, longer] {
        if let Ok(forged) = std::str::from_utf8(&forged) {
            assert!(KEYS.open(forged).is_err(), "{forged} opens like {id}");
        }
    }
}

/// Contents that another version of the gateway may have sealed are refused, or read and sealed again.
fn check_contents(contents: &[u8]) {
    let sealed = KEYS.seal_bytes(PURPOSE, contents);
    assert_eq!(KEYS.open_bytes(PURPOSE, &sealed).as_deref(), Some(contents));
    let id = lower_case_id(&sealed);
    if let Ok(task) = KEYS.open(&id) {
        assert_eq!(KEYS.open(&KEYS.seal(&task)), Ok(task));
    }
}

fn lower_case_id(sealed: &[u8]) -> String {
    let digits = sealed.iter().map(|byte| format!("{byte:02x}"));
    format!("task{}", digits.collect::<String>())
}

fn check_tokens(random: &mut InputRandom, payload: &[u8]) {
    let token = KEYS.seal_token(UrlTokenPurpose::Media, payload);
    let opened = KEYS.open_token(UrlTokenPurpose::Media, &token);
    // Tokens of the gateway are short, and longer ones are refused.
    if token.len() <= 2048 {
        assert_eq!(opened.as_deref(), Ok(payload));
    }
    assert!(KEYS.open_token(UrlTokenPurpose::Callback, &token).is_err());
    let mut forged = token.into_bytes();
    let at = random.below(forged.len());
    forged[at] ^= 1 << random.below(7);
    if let Ok(forged) = std::str::from_utf8(&forged) {
        assert!(KEYS.open_token(UrlTokenPurpose::Media, forged).is_err());
    }
}
