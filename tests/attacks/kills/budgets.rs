//! What counts for a budget outlives a kill in the middle of a turn.

use serde_json::json;
use tests::program::Program;

#[test]
fn what_a_session_has_used_counts_after_a_kill() {
    let mut server = Program::new(&["--store", "sqlite"]).start();
    let session = server.start_session();
    let budget = json!({ "turns": 5, "tokens": 100 });
    assert_eq!(server.post(&format!("{session}/budget"), &budget.to_string()), json!({}));
    let prompt = "Count 60 input and 20 output tokens, then wait 10 minutes";
    assert_eq!(server.post(&format!("{session}/query"), prompt), json!({}));
    server.read_until(&session, "t", "onUsage");
    server.kill_and_restart();

    let known = server.get(&format!("{session}/budget"));
    assert_eq!((&known["budget"], &known["spent"]["tokens"]), (&budget, &json!(80)), "{known}");
    assert_eq!(known["spent"]["turns"], 1);
    assert_eq!(server.post(&format!("{session}/query"), prompt), json!({}), "20 are left");
    let end = server.read_until(&session, "after", "onIdle");
    assert_eq!(end["callback"], "onIdle");
    server.wait_for("the end of the budget", |server| {
        server.get(&format!("{session}/budget"))["spent"]["tokens"] == 160
    });
    let refused = server.post(&format!("{session}/query"), "say hi");
    assert_eq!(refused, json!({ "error": "BudgetExceeded" }));
}
