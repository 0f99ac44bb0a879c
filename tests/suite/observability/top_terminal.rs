//! Tests of `headgate top` in a terminal, which `script` of util-linux provides.

use super::top::assert_shows;
use crate::harness::admin;
use crate::harness::process::BINARY;
use serde_json::json;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

/// What switches a terminal to its second screen and back.
const ENTERS_SCREEN: &str = "\u{1b}[?1049h";
const LEAVES_SCREEN: &str = "\u{1b}[?1049l";

#[tokio::test]
async fn a_terminal_is_restored_when_the_user_quits_and_when_a_signal_ends_it() {
    let gateway = admin::gateway(json!({})).await;
    let folder = &gateway.folder;
    let pid = folder.write("pid", "");
    let (pid, admin) = (pid.display(), gateway.admin);
    let session = format!(
        "stty rows 24 cols 80\nstty -a\n\
         sh -c 'echo $$ > {pid}; exec {BINARY} top --admin {admin}'\necho code=$?\nstty -a\n"
    );
    let session = folder.write("session.sh", session);
    for key in [true, false] {
        let shown = terminal_session(&session, |keys| match key {
            true => keys.write_all(b"q").unwrap(),
            false => {
                let kill = format!("kill -TERM $(cat {pid})");
                let killed = Command::new("sh").args(["-c", &kill]).status();
                assert!(killed.unwrap().success());
            }
        });
        let left = shown.find(LEAVES_SCREEN);
        assert!(left > shown.find(ENTERS_SCREEN), "{shown}");
        assert_shows(&shown, &["code=0", "healthy", "overview"]);
        let settings: Vec<&str> = shown.split("rows 24").collect();
        assert_eq!(settings.len(), 3, "{shown}");
        for settings in &settings[1..] {
            assert!(settings.contains(" icanon"), "{shown}");
        }
    }
}

/// What a shell script prints in a terminal. Once it has entered the full screen, `act` gets the keys.
fn terminal_session(script: &Path, act: impl FnOnce(&mut ChildStdin)) -> String {
    let command = format!("sh {}", script.display());
    let mut session = Command::new("timeout")
        .args(["60", "script", "-qefc", &command, "/dev/null"])
        .env("TERM", "xterm")
        .env_remove("HEADGATE_ADMIN_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = session.stdin.take().unwrap();
    let mut output = session.stdout.take().unwrap();
    let (mut shown, mut act) = (Vec::new(), Some(act));
    let mut piece = [0; 4096];
    loop {
        let count = output.read(&mut piece).unwrap();
        if count == 0 {
            break;
        }
        shown.extend_from_slice(&piece[..count]);
        // The first view is complete once its last line is there.
        if String::from_utf8_lossy(&shown).contains("help")
            && let Some(act) = act.take()
        {
            act(&mut keys);
        }
    }
    session.wait().unwrap();
    String::from_utf8_lossy(&shown).into_owned()
}
