//! Services that give every request the same response: one for the route with `callout`, and a trace collector.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// What lets a request with `callout` continue.
pub const CONTINUE: &str = concat!(
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n",
    r#"{"action":"continue"}"#,
);

/// What a trace collector responds to spans that it has taken.
pub const SPANS_TAKEN: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";

/// Starts a service with this response in threads of this process; it runs until the process ends.
pub fn start(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer_all(connection, answer));
        }
    });
    address
}

/// Responds to calls until the connection ends.
fn answer_all(connection: TcpStream, answer: &str) -> Option<()> {
    connection.set_nodelay(true).ok()?;
    let mut calls = BufReader::new(connection.try_clone().ok()?);
    let mut answers = connection;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if calls.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().to_ascii_lowercase().split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse().ok()?,
                Some(_) => {}
                None if line == "\r\n" => break,
                None => {}
            }
        }
        calls.read_exact(&mut vec![0; length]).ok()?;
        answers.write_all(answer.as_bytes()).ok()?;
    }
}
