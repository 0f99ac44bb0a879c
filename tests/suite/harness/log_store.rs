//! A server that takes what is put or posted: a bucket or a collector that obeys the test.

use super::eventually;
use super::http_response::http_response;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Ends with its test.
pub struct LogStore {
    pub address: SocketAddr,
    received: Arc<Mutex<ReceivedObjects>>,
    /// The status of each response; 0 for none.
    status: watch::Sender<u16>,
}

#[derive(Default)]
struct ReceivedObjects {
    requests: usize,
    heads: Vec<String>,
    /// The last content of each path that was taken with a success.
    by_path: BTreeMap<String, Vec<u8>>,
}

impl LogStore {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::<Mutex<ReceivedObjects>>::default();
        let (status, _) = watch::channel(200);
        let (shared, statuses) = (received.clone(), status.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone(), statuses.subscribe()));
            }
        });
        Self {
            address,
            received,
            status,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Has the server respond with this status from now on; 0 for no response.
    pub fn respond(&self, status: u16) {
        self.status.send_replace(status);
    }

    /// How many requests have arrived.
    pub fn requests(&self) -> usize {
        self.received.lock().unwrap().requests
    }

    /// The heads of all requests.
    pub fn heads(&self) -> Vec<String> {
        self.received.lock().unwrap().heads.clone()
    }

    /// The objects by their paths, as they are.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.received.lock().unwrap().by_path.clone()
    }

    /// The text of all compressed objects, in the order of their paths.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for content in self.objects().values() {
            GzDecoder::new(&content[..])
                .read_to_string(&mut text)
                .unwrap();
        }
        text
    }

    /// The lines of all compressed objects.
    pub fn records(&self) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The records, once there are as many.
    pub async fn wait_for(&self, count: usize) -> Vec<Value> {
        eventually(&format!("{count} records"), async || {
            let records = self.records();
            (records.len() >= count).then_some(records)
        })
        .await
    }
}

async fn serve(
    mut stream: TcpStream,
    received: Arc<Mutex<ReceivedObjects>>,
    mut statuses: watch::Receiver<u16>,
) -> Option<()> {
    let mut bytes = Vec::new();
    loop {
        let head_end = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            read_more(&mut stream, &mut bytes).await?;
        };
        let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
        let length = head.to_ascii_lowercase();
        let (_, length) = length.split_once("content-length:")?;
        let length: usize = length.lines().next()?.trim().parse().unwrap();
        while bytes.len() < head_end + length {
            read_more(&mut stream, &mut bytes).await?;
        }
        let content = bytes.drain(..head_end + length).skip(head_end).collect();
        let path = head.split(' ').nth(1)?.to_owned();
        {
            let mut received = received.lock().unwrap();
            received.requests += 1;
            received.heads.push(head);
        }
        let status = *statuses.wait_for(|status| *status > 0).await.ok()?;
        if status == 200 {
            received.lock().unwrap().by_path.insert(path, content);
        }
        let response = http_response(status, "ETag: \"1\"\r\n", "");
        stream.write_all(&response).await.ok()?;
    }
}

async fn read_more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    match stream.read_buf(bytes).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(()),
    }
}
