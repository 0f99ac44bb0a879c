//! Tests of a media store whose disk is full: a mounted file system of a few MiB where the system permits that, else a
//! limit on the size of files.

use crate::harness::free_port::free_port;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::media::{create_with, data_uri, file, media_config};
use crate::harness::process::Process;
use crate::harness::video::{FAMILY_B, creates};
use crate::harness::{Gateway, Request, Simulator};
use serde_json::json;
use std::process::Command;

/// Mounts the disk, then runs the rest of its arguments.
const MOUNTED: &str = r#"mount -t tmpfs -o size=4m none "$0" && exec "$@""#;
/// Limits the size of files to 4 MiB, in blocks of 512 bytes, and has writes fail instead of ending the process.
const LIMITED: &str = r#"trap '' XFSZ; ulimit -f 8192; exec "$@""#;

fn may_mount() -> bool {
    let probe = ["-rm", "sh", "-c", "mount -t tmpfs none /mnt"];
    let status = Command::new("unshare").args(probe).output();
    status.is_ok_and(|output| output.status.success())
}

#[tokio::test]
async fn a_full_disk_gives_503_and_nothing_is_sent_or_left() {
    let simulator = Simulator::start().await;
    let folder = folder_with_schemas();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut config = media_config(&simulator, free_port());
    config["media"] = json!({"directory": "disk/media"});
    // Bodies stay in memory: it is the disk of the media that is full.
    config["server"]["spool"] = json!({"threshold": "64MiB"});
    let config_file = folder.write("routes.yaml", format!("{config:#}"));
    let disk = disk.to_str().unwrap();
    let run = ["run", "--config", config_file.to_str().unwrap()];
    let is_mounted = may_mount();
    let process = match is_mounted {
        true => Process::spawn_under("unshare", &["-rm", "sh", "-c", MOUNTED, disk], &run),
        false => Process::spawn_under("sh", &["-c", LIMITED, "sh"], &run),
    };
    let gateway = Gateway::listening(process, folder).await;
    let how = if is_mounted {
        "a tmpfs of 4 MiB"
    } else {
        "a limit of 4 MiB for each file"
    };
    for (size, status) in [
        (6_000_000, 503),
        (5_000_000, 503),
        (2_000_000, 200),
        (8_000_000, 503),
    ] {
        let uri = data_uri("video/mp4", &file("video", size, 1));
        let body = create_with(FAMILY_B, "demo-video-b", "reference_video", &uri);
        let made = gateway
            .ask(&Request::post(FAMILY_B, body.to_string()))
            .await;
        assert_eq!(made.status, status, "{size}: {}", made.text());
        println!(
            "full disk ({how}): a file of {size} bytes gets {}",
            made.status
        );
    }
    // On a disk of 4 MiB this fits only if what failed left no space in use.
    let uri = data_uri("video/mp4", &file("video", 1_500_000, 2));
    let body = create_with(FAMILY_B, "demo-video-b", "reference_video", &uri);
    let made = gateway
        .ask(&Request::post(FAMILY_B, body.to_string()))
        .await;
    assert_eq!(made.status, 200, "{}", made.text());
    let count = creates(&simulator).await;
    assert_eq!(count, 2, "only what was stored was sent");
    println!("full disk ({how}): {count} creates at the provider, those of the two files that fit");
}
