//! Files that were attached to prompts: kept through a kill, and out of reach of agents.

use std::fs;

use serde_json::json;
use tests::program::Program;

const GIF: &str = "GIF89a, or so it says";

#[test]
fn an_attachment_that_was_acknowledged_is_there_after_a_kill() {
    let mut server = Program::new(&["--store", "sqlite"]).start();
    let session = server.start_session();
    let attached = server.post(&format!("{session}/attach/a.gif"), GIF);
    let id = attached["attachmentId"].as_str().unwrap_or_else(|| panic!("{attached}")).to_owned();
    server.kill_and_restart();
    let attachment = format!("{session}/attachment/{id}");
    assert_eq!(server.call("GET", &attachment, "", ""), (200, GIF.to_owned()));

    assert_eq!(server.get(&format!("{session}/stop")), json!({ "result": "Closed" }));
    assert_eq!(server.post(&format!("{session}/delete"), ""), json!({}));
    let folder = server.program.data().join("attachments");
    assert_eq!(fs::read_dir(folder).expect("the folder").count(), 0, "deleted with its session");
}

#[test]
fn no_agent_reads_what_was_attached_to_the_prompts_of_another() {
    // The data folder is below the folder in which agents work.
    let program = Program::new(&["--store", "sqlite", "--data-dir", "data"]);
    let server = program.start();
    let session = server.start_session();
    let attached = server.post(&format!("{session}/attach/secret.txt"), "a secret");
    let id = attached["attachmentId"].as_str().unwrap_or_else(|| panic!("{attached}"));
    let file = format!("data/attachments/{}/{id}", session.rsplit('/').next().unwrap_or_default());
    assert!(server.program.work().join(&file).exists(), "{file}");
    let spy = server.start_session();
    server.use_tool(&spy, "readFiles", &json!({ "paths": [file] }));
    let end = server.read_until(&spy, "t", "onEndToolExecution");
    assert!(!end.to_string().contains("a secret"), "{end}");
}
