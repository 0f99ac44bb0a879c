//! A real S3 server for tests, from the Python package index: see `tests/s3`.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server with one bucket. It ends with the test, since its standard input is closed then.
pub struct S3Server {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Endpoint, bucket and credential.
    settings: Value,
}

impl S3Server {
    pub fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/s3");
        let installed = Command::new(folder.join("install.sh"))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(installed.status.success(), "the S3 server is not installed");
        let python = String::from_utf8(installed.stdout).unwrap();
        let mut process = Command::new(python.trim())
            .args(["-B", folder.join("server.py").to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        Self {
            settings: serde_json::from_str(&line).unwrap(),
            process,
            input,
            output,
        }
    }

    pub fn endpoint(&self) -> &str {
        self.settings["endpoint"].as_str().unwrap()
    }

    /// The section `media` of a configuration with this server.
    pub fn media(&self, is_presigned: bool) -> Value {
        let Value::Object(mut s3) = self.settings.clone() else {
            panic!("the settings are an object");
        };
        s3.insert("prefix".into(), json!("headgate/files"));
        s3.insert("presigned".into(), json!(is_presigned));
        json!({"s3": s3})
    }

    /// Makes the server respond to everything with this status; 0 for its own responses.
    pub fn force(&mut self, status: u16) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{status}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), format!("forced {status}"));
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}
