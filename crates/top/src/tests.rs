//! Frames of the terminal in situations: idle, a channel down, a refused configuration, a gateway that is gone.

use super::feed::TopUpdate;
use super::frame::draw;
use super::palette::TopPalette;
use super::state::{TopEndReason, TopState, TopView};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::Color;
use serde_json::{Value, json};

fn overview() -> Value {
    let channel = |name: &str| {
        json!({
            "name": name, "tier": 0, "weight": 1, "retired": false, "usable": true, "drained": false,
            "in_flight": 0, "limits_reached": [], "status": "healthy",
            "minute": {"requests": 0, "upstream_errors": 0, "first_byte_ms": null},
        })
    };
    let none = json!({"p50": null, "p99": null});
    json!({
        "time": "2026-11-22T03:45:10.500Z", "version": "0.1.0", "ready": true,
        "revision": "8c35ad507484", "loaded_at": "2026-11-22T03:40:01.120Z", "last_rejection": null,
        "in_flight": 0, "connections": 2,
        "minute": {
            "start": 0, "requests": 0, "errors": {"caller": 0, "gateway": 0, "upstream": 0},
            "rate_limited": 0, "input_tokens": 0, "output_tokens": 0,
            "first_byte_ms": none, "total_ms": none, "callers": {},
        },
        "last_intervals": [], "findings": [],
        "channels": [channel("primary"), channel("second")],
        "open_requests": [],
        "store": {"kind": "memory", "up": true}, "callbacks": {"pending": 0, "dead": 0},
    })
}

/// The second channel is in cool-down, and a stream waits for its provider.
fn channel_down() -> Value {
    let mut overview = overview();
    overview["minute"]["requests"] = 90.into();
    overview["minute"]["errors"]["upstream"] = 3.into();
    overview["minute"]["first_byte_ms"] = json!({"p50": 212.4, "p99": 1804.0});
    overview["last_intervals"] = json!([
        {"start": 1795319100, "requests": 15, "errors": {"caller": 0, "gateway": 0, "upstream": 3}},
    ]);
    overview["findings"] = json!([{
        "severity": "warning", "code": "unhealthy", "subject": "channel second",
        "cause": "Channel second gets no requests for another 55 s: no connection to the provider could be made.",
        "advice": "Check the channel's `base_url`, DNS, and the network between here and the provider.",
    }]);
    let second = &mut overview["channels"][1];
    second["usable"] = false.into();
    second["status"] = "cooling_down".into();
    second["reason"] = "connect_error".into();
    second["until"] = "2026-11-22T03:46:05.600Z".into();
    second["last_error"] =
        json!({"at": "2026-11-22T03:45:05.600Z", "outcome": "connect_error", "id": "req_1"});
    overview["open_requests"] = json!([{
        "id": "req_c0dce2202d09de2f7a160795", "route": "chat", "caller": "ann", "model": "demo-chat",
        "channel": "primary", "streamed": true, "age_ms": 9_000, "waits_for": "upstream",
        "waiting_ms": 7_100,
    }]);
    overview
}

fn bad_reload() -> Value {
    let mut overview = overview();
    let report = "error: unknown protocol\n  routes.yaml:12:5\n  expected chat";
    overview["last_rejection"] = json!({"at": "2026-11-22T03:44:00.000Z", "report": report});
    overview["findings"] = json!([{
        "severity": "warning", "code": "reload_refused", "subject": "configuration",
        "cause": "The configuration on disk was refused at 2026-11-22T03:44:00.000Z, and revision 8c35ad507484 stays in use: error: unknown protocol routes.yaml:12:5",
        "advice": "Mend the file; it is loaded as soon as it changes.",
    }]);
    overview
}

fn parse_state(overview: Value) -> TopState {
    let mut state = TopState::new("http://127.0.0.1:9091".into(), TopPalette::Plain);
    state.apply(TopUpdate::Overview(overview));
    state
}

fn buffer(state: &mut TopState, columns: u16, rows: u16) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    draw(&mut buffer, state);
    buffer
}

/// The lines of a frame, without the spaces at their ends.
fn lines(state: &mut TopState, columns: u16, rows: u16) -> Vec<String> {
    let buffer = buffer(state, columns, rows);
    let cells = buffer.content.chunks(usize::from(columns));
    let texts = cells.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    texts.map(|text| text.trim_end().to_owned()).collect()
}

fn press(state: &mut TopState, codes: &[KeyCode]) {
    for code in codes {
        state.press(KeyEvent::new(*code, KeyModifiers::NONE));
    }
}

fn assert_shows(shown: &[String], expected: &[&str]) {
    let text = shown.join("\n");
    for words in expected {
        assert!(text.contains(words), "{words} is not in:\n{text}");
    }
}

#[test]
fn an_idle_gateway_fits_into_a_small_terminal() {
    let shown = lines(&mut parse_state(overview()), 80, 24);
    let dots = "·".repeat(60);
    let expected = [
        "healthy  http://127.0.0.1:9091                                      03:45:10 UTC",
        "revision 8c35ad507484, loaded 03:40:01; version 0.1.0; state memory, up",
        " 1 overview   2 channels   3 in flight   4 recent",
        "Nothing is wrong as far as the gateway can see.",
        "",
        "Last minute",
        "requests 0.0/s   errors 0 (0 upstream, 0 gateway, 0 caller)",
        "first byte p50 -, p99 -   total p50 -, p99 -   tokens 0 in, 0 out   in flight 0",
        "connections 2   callbacks 0 waiting, 0 dead",
        "",
        "Last hour, with the highest number per minute",
        &format!("requests {dots} 0/min"),
        &format!("errors   {dots} 0/min"),
        "",
        "Channels",
        "Channel  Health   Open  Req/min  Errors  1st byte  Tier  Weight  Last error",
        "primary  healthy     0        0       0         -     0       1  -",
        "second   healthy     0        0       0         -     0       1  -",
        "",
    ];
    assert_eq!(shown[..expected.len()], expected);
    assert_eq!(shown[23], "q quit   Tab 1-4 view   ? help");
}

#[test]
fn a_channel_that_is_down_is_named_with_the_rest_of_its_cool_down_and_who_is_silent() {
    let mut state = parse_state(channel_down());
    let shown = lines(&mut state, 80, 40);
    assert_shows(
        &shown,
        &[
            "needs attention  http://",
            "warning Channel second gets no requests for another 55 s: no connection to the",
            "\n  Check the channel's `base_url`",
            "requests 1.5/s   errors 3 (3 upstream, 0 gateway, 0 caller)",
            "first byte p50 212 ms, p99 1.8 s",
            "█ 15/min",
            "second   cool-down 55 s: connect_error",
            "\nIn flight\nWaits for",
            "upstream   7.1 s  9.0 s  ann     demo-chat  primary  stream  chat",
        ],
    );
    press(&mut state, &[KeyCode::Char('2')]);
    let shown = lines(&mut state, 140, 10);
    assert_shows(&shown, &["03:45:05 connect_error"]);
    press(&mut state, &[KeyCode::Tab]);
    assert_shows(
        &lines(&mut state, 140, 10),
        &["req_c0dce2202d09de2f7a160795"],
    );
}

#[test]
fn a_refused_configuration_is_shown_with_its_report() {
    let mut state = parse_state(bad_reload());
    let shown = lines(&mut state, 80, 40);
    assert_shows(
        &shown,
        &[
            "needs attention",
            "warning The configuration on disk was refused at 2026-11-22T03:44:00.000Z",
            "  Mend the file",
            "\nConfiguration refused at 03:44:00\nerror: unknown protocol\n  routes.yaml:12:5",
        ],
    );
    // What does not fit is reached by scrolling, and not beyond.
    let first = lines(&mut state, 80, 24);
    assert_shows(&first, &["arrows scroll: lines 1-20 of 2"]);
    press(&mut state, &[KeyCode::End]);
    assert_shows(&lines(&mut state, 80, 24), &["expected chat"]);
    press(&mut state, &[KeyCode::PageUp, KeyCode::PageUp]);
    assert_eq!(lines(&mut state, 80, 24), first);
}

#[test]
fn a_gateway_that_is_gone_keeps_its_last_state_until_it_is_back() {
    let mut state = parse_state(channel_down());
    let message = "error: cannot reach the admin pages at http://127.0.0.1:9091: Connection refused\n  start the gateway";
    state.apply(TopUpdate::Disconnected(message.into()));
    assert_shows(
        &lines(&mut state, 80, 40),
        &[
            "disconnected  http://",
            "\nstate of 03:45:10; tries again every second: Connection refused\n",
            "cool-down 55 s",
        ],
    );
    state.apply(TopUpdate::Overview(overview()));
    assert_shows(&lines(&mut state, 80, 40), &["healthy  http://"]);
    state.apply(TopUpdate::Refused("error: incorrect admin key".into()));
    let refused = TopEndReason::Refused("error: incorrect admin key".into());
    assert_eq!(state.end, Some(refused));
}

#[test]
fn recent_requests_cannot_control_the_terminal() {
    let mut state = parse_state(overview());
    let recent = json!({"requests": [{
        "time": "2026-11-22T03:45:09.000Z", "status": 404, "settlement": "local_reply", "caller": "ann",
        "model": "x\u{1b}]0;title\u{7}", "total_ms": 0.4, "error_code": "model_not_found", "id": "req_2",
    }]});
    state.apply(TopUpdate::Recent(recent));
    press(&mut state, &[KeyCode::Char('4')]);
    assert_shows(
        &lines(&mut state, 80, 10),
        &["03:45:09     404  ann     x?]0;title?", "model_not_"],
    );
}

#[test]
fn keys_switch_views_open_help_and_quit() {
    let mut state = parse_state(overview());
    for (key, view) in [
        (KeyCode::Tab, TopView::Channels),
        (KeyCode::Char('4'), TopView::Recent),
        (KeyCode::Tab, TopView::Overview),
        (KeyCode::BackTab, TopView::Recent),
    ] {
        press(&mut state, &[key]);
        assert_eq!(state.view, view, "{key:?}");
    }
    assert_shows(&lines(&mut state, 80, 24), &["There were no requests yet."]);
    press(&mut state, &[KeyCode::Char('?')]);
    assert_shows(&lines(&mut state, 80, 24), &["Tab, Shift-Tab"]);
    press(&mut state, &[KeyCode::Esc]);
    assert_eq!(state.end, None);
    press(&mut state, &[KeyCode::Esc]);
    assert_eq!(state.end, Some(TopEndReason::Quit));
}

#[test]
fn colours_are_used_only_where_they_are_wanted() {
    for (palette, is_coloured) in [(TopPalette::Coloured, true), (TopPalette::Plain, false)] {
        let mut state = TopState::new("http://127.0.0.1:9091".into(), palette);
        state.apply(TopUpdate::Overview(channel_down()));
        let buffer = buffer(&mut state, 80, 24);
        let mut cells = buffer.content.iter();
        assert_eq!(cells.any(|cell| cell.fg != Color::Reset), is_coloured);
    }
}

#[test]
fn no_size_of_a_terminal_is_too_small() {
    for overview in [overview(), channel_down(), bad_reload(), Value::Null] {
        let mut state = parse_state(overview);
        for (columns, rows) in [(1, 1), (5, 2), (20, 5), (79, 3), (300, 100)] {
            for view in TopView::ALL {
                state.view = view;
                assert_eq!(lines(&mut state, columns, rows).len(), usize::from(rows));
            }
        }
    }
}
