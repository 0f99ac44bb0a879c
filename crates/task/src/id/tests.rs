//! Tests of sealed ids: an id opens to what was sealed, and no other text opens.

use super::*;
use crate::requested_format::RequestedVideoFormat;
use proptest::prelude::*;

fn key(letter: char) -> TaskIdKey {
    TaskIdKey::new(&letter.to_string().repeat(KEY_CHARS_MIN)).unwrap()
}

fn ring(letters: &str) -> TaskIdKeyRing {
    let mut keys = letters.chars().map(key);
    TaskIdKeyRing::new(keys.next().unwrap(), keys.collect())
}

fn task() -> TaskId {
    TaskId {
        caller: "customer-of-some-length".into(),
        channel: "video-beijing-primary".into(),
        credential: credential_fingerprint("sk-primary"),
        model: "family-b-3.0-video-prime".into(),
        created: 1_795_260_000,
        ratio: Some("16:9".into()),
        upstream: "0385dc79-5ff8-4d82-bcb6-1dc1ad6e6a4f".into(),
        family: "family-b".into(),
        requested: RequestedVideoFormat::default(),
        query_url: None,
    }
}

prop_compose! {
    fn any_task()(
        texts in prop::array::uniform5(".{0,40}"),
        ratio in prop::option::of(".{1,10}"),
        credential: u64,
        created: u64,
        format in prop::array::uniform3(prop::option::of(".{1,10}")),
    ) -> TaskId {
        let [caller, channel, model, upstream, family] = texts;
        let [seconds, size, query_url] = format;
        let requested = RequestedVideoFormat { seconds, size };
        TaskId { caller, channel, credential, model, created, ratio, upstream, family, requested, query_url }
    }
}

proptest! {
    #[test]
    fn what_was_sealed_comes_back(task in any_task()) {
        let keys = ring("a");
        prop_assert_eq!(keys.open(&keys.seal(&task)), Ok(task));
    }

    #[test]
    fn an_id_in_lower_case_opens_like_the_id(task in any_task()) {
        let keys = ring("a");
        let lower = in_lower_case(&keys.seal(&task));
        prop_assert!(lower.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{}", lower);
        prop_assert_eq!(keys.open(&lower), Ok(task));
        prop_assert_eq!(keys.open(&lower.to_uppercase()), Err(UnknownTask));
        prop_assert_eq!(keys.open(&lower[..lower.len() - 1]), Err(UnknownTask));
    }

    #[test]
    fn a_flipped_bit_opens_nothing(task in any_task(), at: prop::sample::Index, bit in 0..7u32) {
        let keys = ring("ab");
        let mut id = keys.seal(&task).into_bytes();
        let at = at.index(id.len());
        id[at] ^= 1 << bit;
        let id = String::from_utf8(id).unwrap();
        prop_assert_eq!(keys.open(&id), Err(UnknownTask));
    }

    #[test]
    fn a_cut_or_longer_id_opens_nothing(task in any_task(), at: prop::sample::Index) {
        let keys = ring("a");
        let id = keys.seal(&task);
        prop_assert_eq!(keys.open(&id[..at.index(id.len())]), Err(UnknownTask));
        prop_assert_eq!(keys.open(&format!("{id}A")), Err(UnknownTask));
    }

    #[test]
    fn a_text_from_anywhere_opens_nothing(text in ".{0,200}") {
        prop_assert_eq!(ring("a").open(&text), Err(UnknownTask));
        prop_assert_eq!(ring("a").open(&format!("{PREFIX}{text}")), Err(UnknownTask));
    }

    #[test]
    fn arbitrary_bytes_are_rejected_or_round_trip(
        bytes in prop::collection::vec(any::<u8>(), 0..80)
    ) {
        if let Some(task) = fields::decode(&bytes) {
            prop_assert_eq!(fields::decode(&fields::encode(&task)), Some(task));
        }
    }
}

#[test]
fn every_bit_of_an_id_counts() {
    let keys = ring("a");
    let id = keys.seal(&task());
    let sealed = URL_SAFE_NO_PAD.decode(&id[PREFIX.len()..]).unwrap();
    for at in 0..sealed.len() * 8 {
        let mut flipped = sealed.clone();
        flipped[at / 8] ^= 1 << (at % 8);
        let id = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(flipped));
        assert_eq!(keys.open(&id), Err(UnknownTask), "bit {at}");
    }
}

#[test]
fn the_first_key_seals_and_all_open() {
    let id = ring("a").seal(&task());
    for (letters, opens) in [("a", true), ("ba", true), ("cba", true), ("b", false)] {
        assert_eq!(ring(letters).open(&id).is_ok(), opens, "{letters}");
    }
    assert_eq!(ring("ba").seal(&task()), ring("b").seal(&task()));
    assert_ne!(ring("b").seal(&task()), id);
}

#[test]
fn a_task_id_of_another_caller_is_unknown() {
    let keys = ring("a");
    let id = keys.seal(&task());
    assert_eq!(keys.open_for(&task().caller, &id), Ok(task()));
    for caller in ["", "customer-of-some-lengt", "other"] {
        assert_eq!(keys.open_for(caller, &id), Err(UnknownTask));
    }
}

#[test]
fn ids_are_words_of_a_path_and_not_long() {
    let id = ring("a").seal(&task());
    let plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    assert!(id.chars().all(plain), "{id}");
    assert!(id.len() < 250, "{}", id.len());
}

#[test]
fn an_id_with_the_longest_fields_opens_in_both_forms() {
    let task = TaskId {
        caller: "c".repeat(128),
        channel: "h".repeat(128),
        model: "m".repeat(256),
        upstream: "u".repeat(512),
        query_url: Some("q".repeat(1024)),
        ..task()
    };
    let keys = ring("a");
    let id = keys.seal(&task);
    assert_eq!(keys.open(&id).as_ref(), Ok(&task));
    assert_eq!(keys.open(&in_lower_case(&id)).as_ref(), Ok(&task));
}

#[test]
fn a_short_key_is_refused() {
    for (secret, good) in [
        ("", false),
        (&"k".repeat(31), false),
        (&"ü".repeat(32), true),
    ] {
        assert_eq!(TaskIdKey::new(secret).is_ok(), good, "{secret}");
    }
}

/// Callers keep ids, so that old ids must open after an update: these were created by earlier versions.
#[test]
fn ids_of_earlier_versions_open() {
    let id = concat!(
        "task_XmIqC3jbjQCwGuKhMJETj7we_lg-h0wsElBd-vhxPyuntJzerMehq5EnyGlln0bZZHRiFOfpt_",
        "ttIq2xZrzslQgwFs3u1vAPLFEsnbdDt-jEt3-gZ4F0wCDoTjCrk6BRYP09PCt_o3fjJJ692rOzbyo5_",
        "1QZm0HGiWNsYEwjoh_b0Wib7CdFYjWa7zZoLiPgGkvdOw5l7KE",
    );
    assert_eq!(
        ring("a").open(id),
        Ok(task()),
        "{}",
        ring("a").seal(&task())
    );
}

#[test]
fn neither_keys_nor_rings_are_printed() {
    assert_eq!(format!("{:?}", key('a')), "[secret]");
    assert_eq!(format!("{:?}", ring("ab")), "KeyRing of 2");
}
