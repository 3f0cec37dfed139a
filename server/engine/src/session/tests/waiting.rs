//! Waiting prompts, steering ones and chosen models, after a restart.

use wire::WaitingPrompt;

use super::restart::Server;
use super::*;

fn waiting(id: u64, prompt: &str) -> WaitingPrompt {
    WaitingPrompt { id, prompt: prompt.to_owned() }
}

#[tokio::test]
async fn changes_of_the_queue_survive_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path()).await;
    let id = server.start_with(&["wait 3000 seconds", "say two", "say three", "say four"]).await;
    let session = server.sessions.get(id).expect("open");
    while !session.summary().busy {
        tokio::task::yield_now().await;
    }
    session.remove_waiting(3).await.expect("removed");
    session.edit_waiting(2, "say \"deux\"".to_owned()).await.expect("changed");
    drop(session);
    server.end().await;

    let server = Server::start(folder.path()).await;
    let queue = server.sessions.waiting(id).await.expect("open").queue;
    assert_eq!(queue, [waiting(2, "say \"deux\""), waiting(4, "say four")]);
    server.sessions.find(id).await.expect("open");
    let seen = server.read_until_idle(id, 3).await;
    let prompts = seen.iter().filter_map(|response| match response {
        SessionResponse::UserPrompt { prompt } => Some(prompt.as_str()),
        _ => None,
    });
    assert_eq!(prompts.collect::<Vec<_>>(), ["wait 3000 seconds", "say \"deux\"", "say four"]);
    let last = seen.iter().rev().find_map(|response| match response {
        SessionResponse::QueueChanged(shown) => Some(shown.queue.clone()),
        _ => None,
    });
    assert_eq!(last, Some(Vec::new()), "readers know that nothing waits any more");
    server.end().await;
}

#[tokio::test]
async fn a_prompt_that_steers_is_the_next_one_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path()).await;
    let id = server.start_with(&["wait 3000 seconds", "say last"]).await;
    let session = server.sessions.get(id).expect("open");
    while session.steer("say first".to_owned()).await.is_err() {
        // Its turn is about to begin.
        tokio::task::yield_now().await;
    }
    drop(session);
    server.end().await;

    let server = Server::start(folder.path()).await;
    let queue = server.sessions.waiting(id).await.expect("open").queue;
    assert_eq!(queue, [waiting(3, "say first"), waiting(2, "say last")]);
    server.sessions.stop(id).await.expect("open");
    server.end().await;
}

#[tokio::test]
async fn a_chosen_model_survives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path()).await;
    let id = server.start_with(&["say one"]).await;
    server.read_until_idle(id, 1).await;
    let session = server.sessions.get(id).expect("open");
    session.switch_model("gpt-5.2".to_owned()).await.expect("switched");
    drop(session);
    server.end().await;

    let server = Server::start(folder.path()).await;
    assert_eq!(server.sessions.find(id).await.expect("open").model(), "gpt-5.2");
    assert_eq!(server.record(id).await.model.as_deref(), Some("gpt-5.2"));
    server.end().await;
}
