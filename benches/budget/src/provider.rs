//! A provider in this process, whose streams send an event when the client asks for it.
//!
//! The client asks for the next event once it has received the one before: each event crosses the gateway alone,
//! however slow or busy the machine is, so that equal runs take equally many instructions.

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

/// The end of each response that is not a stream.
pub const ANSWER_END: &str = r#""service_tier":"default"}"#;
const ANSWER: &str = concat!(
    r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"provider-model-2026-08","#,
    r#""system_fingerprint":"fp_1","choices":[{"index":0,"message":{"role":"assistant","content":""#,
    r#"The report has three parts. The first one describes where the water comes from and how much of it there is; "#,
    r#"the second one compares the \"dry\" years with the others.\n\nThe third part is the longest: it lists what was "#,
    r#"tried, what it cost, and what the authors would do again. In short: the gates work, and they are cheap."#,
    r#"","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"#,
    r#""usage":{"prompt_tokens":120,"completion_tokens":80,"total_tokens":200,"#,
    r#""prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"#,
    r#""audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default"}"#,
);
/// What a create of a video gets.
const TASK: &str = r#"{"id":"cgt-20261126200000-a1b2c"}"#;
const EVENT: &str = concat!(
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"provider-model-2026-08","#,
    r#""choices":[{"index":0,"delta":{"content":" water"},"logprobs":null,"finish_reason":null}]}"#,
    "\n\n",
);
const LAST_EVENTS: &str = concat!(
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"provider-model-2026-08","#,
    r#""choices":[],"usage":{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16}}"#,
    "\n\ndata: [DONE]\n\n",
);

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
        if !line.contains("/chat/") {
            answer(&mut answers, TASK)?;
            continue;
        }
        match body.windows(13).any(|part| part == br#""stream":true"#) {
            true => send_stream(&mut answers, commands)?,
            false => answer(&mut answers, ANSWER)?,
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

fn send_stream(answers: &mut TcpStream, commands: &Mutex<Receiver<Next>>) -> Option<()> {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    answers.write_all(head.as_bytes()).ok()?;
    let commands = commands.lock().ok()?;
    loop {
        match commands.recv().ok()? {
            Next::Event => write_chunk(answers, EVENT)?,
            Next::End => {
                write_chunk(answers, LAST_EVENTS)?;
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
