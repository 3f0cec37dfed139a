//! The CLI's process: shared, killed, missing, closed.

use std::path::PathBuf;

use agents::permission::ApproveAll;
use serde_json::json;
use stub_provider::{Answer, Frames};

use super::*;

/// The CLI with this home and all its descendants, wherever they are by now: children inherit
/// variables.
pub(crate) fn of(home: &Path) -> Vec<(u32, String)> {
    let mark = format!("COPILOT_HOME={}\0", home.display());
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = processes.filter_map(|process| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let environment = std::fs::read(process.path().join("environ")).ok()?;
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        let is_ours = String::from_utf8_lossy(&environment).contains(&mark);
        is_ours.then(|| (number, String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    ours.collect()
}

/// The process id of the CLI itself.
pub(crate) fn cli(home: &Path) -> u32 {
    let servers: Vec<_> =
        of(home).into_iter().filter(|(_, line)| line.contains("--server")).collect();
    let [(number, _)] = &*servers else {
        panic!("one CLI is running: {servers:?}");
    };
    *number
}

pub(crate) fn kill(process: u32) {
    let status = std::process::Command::new("kill").args(["-KILL", &process.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

async fn wait_until(what: &str, reached: impl Fn() -> bool) {
    let mut glances = tokio::time::interval(Duration::from_millis(20));
    let waiting = async {
        while !reached() {
            glances.tick().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "not in time: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_share_a_process() {
    let bench = Bench::new().await;
    bench.provider.always(stub_provider::CHAT, Frames::saying("Yes."));
    let (one, other) = tokio::join!(bench.conversation(), bench.conversation());
    cli(bench.home.path());
    let (asked, also) = tokio::join!(one.ask("one?"), other.ask("other?"));
    assert_eq!((asked, also), (Ok(()), Ok(())));
    assert_eq!((&*one.said(TextKind::Message), &*other.said(TextKind::Message)), ("Yes.", "Yes."));
    one.session.stop().await;
    other.ask("still there?").await.expect("the other one goes on");
    bench.finish(other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_cli_is_told_at_once_and_the_next_session_has_another() {
    let bench = Bench::new().await;
    bench.provider.push(Answer::stream().bytes(Frames::new().text("Once").text_of_all()).hang());
    bench.provider.push(Frames::saying("Alive."));
    let (busy, quiet) = tokio::join!(bench.conversation(), bench.conversation());
    let turn = tokio::spawn({
        let busy = busy.clone();
        async move { busy.ask("tell a story").await }
    });
    busy.wait_for("delta", |event| matches!(event, AgentEvent::TextDelta { .. })).await;
    let first = cli(bench.home.path());
    kill(first);
    let Err(AgentError::Crashed(reason)) = turn.await.expect("no panic") else {
        panic!("it must crash: {:#?}", busy.events());
    };
    assert!(reason.contains("the Copilot CLI ended") && reason.contains('9'), "{reason}");
    for conversation in [&busy, &quiet] {
        conversation
            .wait_for(
                "crash",
                |event| matches!(event, AgentEvent::Crashed { message } if *message == reason),
            )
            .await;
    }
    let dead = quiet.ask("anybody?").await;
    assert_eq!(dead, Err(AgentError::Crashed(reason)));
    busy.session.stop().await;
    quiet.session.stop().await;

    let next = bench.conversation().await;
    assert_ne!(cli(bench.home.path()), first);
    next.ask("anybody?").await.expect("a turn");
    assert_eq!(next.said(TextKind::Message), "Alive.");
    bench.finish(next).await;
}

type Outcome = tokio::task::JoinHandle<Result<(), AgentError>>;

/// A conversation in which the model runs a command that takes an hour.
async fn start_with_command(bench: &Bench) -> (Conversation, Outcome) {
    let call = json!({ "command": "sleep 3611", "description": "wait" }).to_string();
    let frames = Frames::new().call(0, "call-1", "bash", &call).finish("tool_calls").done();
    bench.provider.push(frames.answer());
    let change = |settings: &mut AgentSettings| {
        settings.own_tools = true;
        settings.permissions = Arc::new(ApproveAll);
    };
    let conversation = bench.conversation_with(change).await;
    let turn = tokio::spawn({
        let conversation = conversation.clone();
        async move { conversation.ask("wait").await }
    });
    let home = bench.home.path();
    let sleeps = || of(home).iter().any(|(_, line)| line.starts_with("sleep 3611"));
    wait_until("the command runs", sleeps).await;
    (conversation, turn)
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_end_with_a_killed_cli() {
    let bench = Bench::new().await;
    let (conversation, turn) = start_with_command(&bench).await;
    kill(cli(bench.home.path()));
    assert!(matches!(turn.await.expect("no panic"), Err(AgentError::Crashed(_))));
    let home = bench.home.path();
    wait_until("the command is gone", || of(home).is_empty()).await;
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_end_when_the_backend_is_closed() {
    let bench = Bench::new().await;
    let (_conversation, turn) = start_with_command(&bench).await;
    bench.copilot.close().await;
    assert_eq!(of(bench.home.path()), []);
    assert!(matches!(turn.await.expect("no panic"), Err(AgentError::Crashed(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_end_when_everything_is_dropped() {
    let bench = Bench::new().await;
    let (conversation, turn) = start_with_command(&bench).await;
    turn.abort();
    assert!(turn.await.is_err_and(|error| error.is_cancelled()));
    let Bench { copilot, home, .. } = bench;
    drop((copilot, conversation));
    wait_until("all is gone", || of(home.path()).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_login_the_remedy_is_told() {
    let home = tempfile::tempdir().expect("temporary folder");
    let copilot = Copilot::new(settings(home.path()));
    let Err(AgentError::Unavailable(reason)) = copilot.list_models().await else {
        panic!("nobody is logged in");
    };
    assert!(reason.contains("not logged in") && reason.contains("copilot login"), "{reason}");
    wait_until("no process is kept for that", || of(home.path()).is_empty()).await;
    copilot.close().await;
}

#[tokio::test]
async fn a_program_that_is_none_is_a_problem() {
    let home = tempfile::tempdir().expect("temporary folder");
    let not_there = PathBuf::from("/no/such/copilot");
    let copilot = Copilot::new(CopilotSettings { cli: Some(not_there), ..settings(home.path()) });
    let Err(AgentError::Unavailable(reason)) = copilot.list_models().await else {
        panic!("there is no such program");
    };
    assert!(reason.contains("/no/such/copilot") && reason.contains("copilot.cliPath"), "{reason}");

    // Another program, which exits at once.
    let other = CopilotSettings { cli: Some("/bin/false".into()), ..settings(home.path()) };
    let copilot = Copilot::new(other);
    let Err(AgentError::Unavailable(reason)) = copilot.list_models().await else {
        panic!("not a Copilot CLI");
    };
    assert!(reason.contains("the Copilot CLI can't be used"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_model_starts_no_session() {
    let bench = Bench::new().await;
    let events = AgentEvents::new(|_| {});
    let settings = AgentSettings::new("gpt-nothing", bench.folder.path(), events);
    let Err(AgentError::Unavailable(reason)) = bench.copilot.start_session(settings).await else {
        panic!("there is no such model");
    };
    assert_eq!(reason, "unknown model: `gpt-nothing`");
    let models = bench.copilot.list_models().await.expect("a list");
    assert_eq!((&*models[0].id, &*models[0].name, models[0].multiplier), (MODEL, "Scripted", 0.0));
    assert_eq!(of(bench.home.path()), [], "nothing was started for that");
}
