//! A provider in this process, whose streams send an event when the client asks for it.
//!
//! The client asks for the next event once it has received the one before: each event crosses the gateway alone,
//! however slow or busy the machine is, so that equal runs take equally many instructions.

use headgate_budget::conversation::{Conversation, ProviderTexts};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a stream sends next.
#[derive(Clone, Copy)]
pub enum Next {
    Event,
    /// Usage, the protocol's last event, and the end of the response.
    End,
}

pub struct Provider {
    pub address: SocketAddr,
    stream: Sender<Next>,
}

/// What a create of a video gets.
const TASK: &str = r#"{"id":"cgt-20261126200000-a1b2c"}"#;
impl Provider {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound");
        let (stream, commands) = channel();
        let commands = Arc::new(Mutex::new(commands));
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let commands = commands.clone();
                // The thread ends with the gateway, which closes its connections.
                thread::spawn(move || serve(connection, &commands));
            }
        });
        Self { address, stream }
    }

    /// Makes the open stream send.
    pub fn send(&self, next: Next) {
        self.stream.send(next).expect("the provider runs");
    }
}

/// Responds to requests until the connection ends.
fn serve(connection: TcpStream, commands: &Mutex<Receiver<Next>>) -> Option<()> {
    connection.set_nodelay(true).ok()?;
    let mut requests = BufReader::new(connection.try_clone().ok()?);
    let mut answers = connection;
    loop {
        let (line, body) = read_request(&mut requests)?;
        if !line.contains("/v1/") {
            answer(&mut answers, TASK)?;
            continue;
        }
        let texts = Conversation::for_request(&line).provider_texts();
        match body.windows(13).any(|part| part == br#""stream":true"#) {
            true => send_stream(&mut answers, &texts, commands)?,
            false => answer(&mut answers, texts.response)?,
        }
    }
}

fn answer(answers: &mut TcpStream, body: &str) -> Option<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    answers.write_all((head + body).as_bytes()).ok()
}

/// The first line and the body of the next request.
fn read_request(requests: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut first = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        requests.read_line(&mut line).ok()?;
        if first.is_empty() {
            first.clone_from(&line);
        }
        match line.trim_end().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().ok()?,
            Some(_) => {}
            None if line == "\r\n" => break,
            None if line.is_empty() => return None,
            None => {}
        }
    }
    let mut body = vec![0; length];
    requests.read_exact(&mut body).ok()?;
    Some((first, body))
}

fn send_stream(
    answers: &mut TcpStream,
    texts: &ProviderTexts,
    commands: &Mutex<Receiver<Next>>,
) -> Option<()> {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    answers.write_all(head.as_bytes()).ok()?;
    let commands = commands.lock().ok()?;
    let mut first = texts.first_events;
    loop {
        match commands.recv().ok()? {
            Next::Event => {
                write_chunk(answers, &[first, texts.event].concat())?;
                first = "";
            }
            Next::End => {
                write_chunk(answers, texts.last_events)?;
                return answers.write_all(b"0\r\n\r\n").ok();
            }
        }
    }
}

/// Writes a chunk with one call, so that it arrives in one piece.
fn write_chunk(answers: &mut TcpStream, data: &str) -> Option<()> {
    let chunk = format!("{:x}\r\n{data}\r\n", data.len());
    answers.write_all(chunk.as_bytes()).ok()
}
