//! Tests of what passes unchanged.

use super::*;
use headgate_protocol::sse::decode_events;

#[test]
fn a_response_of_the_same_protocol_passes_without_a_copy() {
    let mut transcoder = ResponseTranscoder::new(None);
    assert!(transcoder.passes_bytes());
    let body = Bytes::from_static(b"{\"id\":1}");
    assert_eq!(
        transcoder.body(body.clone()).unwrap().as_ptr(),
        body.as_ptr()
    );
    let stream = Bytes::from_static(b"event: a\ndata: {}\n\ndata: [DONE]\n\n");
    let received = decode_events(&stream, 64);
    assert_eq!(received.len(), 2);
    for event in &received {
        let events = transcoder.events(event).unwrap();
        assert!(matches!(events, [same] if std::ptr::eq(same, event)));
    }
    assert!(transcoder.last_events().unwrap().is_empty());
    assert_eq!(size_of::<ResponseTranscoder>(), size_of::<usize>());
}
