//! Streams that are read and written again, also those that lack some of their events.

use crate::responses::tests::{Mixing, Random, context, parse, streamed, translated, written};
use crate::responses::{read_response, write_response};
use serde_json::Value;

/// The events of a random response, as JSON, and the response.
fn random_events(seed: u64, mixing: Mixing) -> (Vec<Value>, Value) {
    let mut random = Random::new(seed);
    let response = random.response();
    let pieces = random.pieces(&response, mixing);
    let events = written(&pieces);
    let events = events
        .iter()
        .map(|event| serde_json::from_slice(event.data()).unwrap());
    (events.collect(), streamed(&pieces))
}

#[test]
fn a_stream_that_is_read_and_written_again_is_the_same() {
    for seed in 0..100 {
        let (events, response) = random_events(seed, Mixing::Calls);
        assert_eq!(translated(&events), response, "seed {seed}");
    }
}

#[test]
fn texts_that_come_only_at_an_end_are_neither_lost_nor_doubled() {
    let texts = [
        ".delta",
        "text.done",
        "refusal.done",
        "arguments.done",
        "input.done",
    ];
    let deltas = &texts[..1];
    let with = |more: &[&'static str]| [&texts[..], more].concat();
    let left_out = [
        deltas.to_vec(),
        with(&[]),
        with(&["part.added", "part.done"]),
        with(&["part.added", "part.done", "item.added"]),
        with(&["part.added", "part.done", "item.added", "item.done"]),
    ];
    for seed in 0..100 {
        let (events, response) = random_events(seed, Mixing::None);
        for names in &left_out {
            let mut events = events.clone();
            events.retain(|event| {
                let name = event["type"].as_str().unwrap();
                !names.iter().any(|left_out| name.ends_with(left_out))
            });
            let translated = translated(&events);
            assert_eq!(translated, response, "seed {seed} without {names:?}");
        }
    }
}

#[test]
fn items_without_an_end_event_end_with_the_response() {
    let responses = (0..100).map(|seed| random_events(seed, Mixing::Calls));
    // Thoughts that only their provider can read come with the end of their item.
    let is_sealed = |response: &Value| response.to_string().contains("encrypted_content");
    let open = responses.filter(|(_, response)| !is_sealed(response));
    let mut checked = 0;
    for (mut events, response) in open {
        events.retain(|event| event["type"] != "response.output_item.done");
        assert_eq!(translated(&events), response);
        checked += response["output"].as_array().unwrap().len();
    }
    assert!(checked > 50);
}

#[test]
fn a_whole_response_gives_the_same_as_its_stream() {
    for seed in 0..100 {
        let (events, response) = random_events(seed, Mixing::Calls);
        let document = parse(&response);
        let read = read_response(document.root()).unwrap();
        let whole: Value =
            serde_json::from_slice(&write_response(&read, &context()).unwrap()).unwrap();
        assert_eq!(translated(&events), whole, "seed {seed}");
    }
}
