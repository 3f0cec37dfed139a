//! Agents that work to an end.

use ::agents::tools::AllowedRoots;

use super::*;

fn read() -> Value {
    act(&json!({ "tool": "readFiles", "files": ["README.md"] }))
}

fn edit(content: &str) -> Value {
    act(&json!({ "tool": "editFile", "path": "README.md", "content": content }))
}

#[tokio::test(start_paused = true)]
async fn an_agent_reads_edits_creates_and_says_what_it_did() {
    let mut fixture = Fixture::new().await;
    let create = json!({ "tool": "createFile", "path": "docs/new.md", "content": "new\n" });
    let list = json!({ "tool": "listFiles" });
    let both = json!({ "actions": [create, list], "commentary": "Add a page" });
    let id = fixture.pursue(&[read(), edit("# Bye\n"), both, finish("All done.")]).await;
    let (text, done) = fixture.end().await;
    assert_eq!((done.id, ended(&done)), (id, (RunEnd::Done, None)));
    assert_eq!(done.model.as_deref(), Some("gpt-5.2"));
    assert_eq!(fixture.text("README.md"), "# Bye\n");
    assert_eq!(fixture.text("docs/new.md"), "new\n");
    for part in [
        "### Step 1/12\n\nWorking\n\n- **`readFiles`** `README.md`",
        "# Hello",
        "### Step 2/12",
        "-# Hello\n+# Bye",
        "### Step 3/12\n\nAdd a page\n\n- **`createFile`** `docs/new.md`",
        "README.md\ndocs/new.md",
        "### Step 4/12\n\nAll done.\n",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let history = fixture.history().await;
    assert_eq!(history.messages.len(), 2);
    assert_eq!(history.messages[1].text, text);
    assert_eq!(history.messages[1].reason, Some(RunEnd::Done));
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn prose_and_mistakes_are_corrected_and_are_no_steps() {
    let mut fixture = Fixture::new().await;
    fixture
        .pursue(&[
            json!("say \"Let me think.\""),
            json!({ "actions": [], "done": false }),
            read(),
            json!("say \"Nothing to see here.\""),
            json!(
                r#"say "Well then:\n```json\n{\"finalSummary\":\"Looked.\",\"done\":true}\n```""#
            ),
        ])
        .await;
    let (text, done) = fixture.end().await;
    assert_eq!(ended(&done), (RunEnd::Done, None));
    assert!(text.contains("### Step 2/12\n\n*Not a step"), "{text}");
    assert!(text.ends_with("Looked.\n") && !text.contains("Step 3"), "{text}");
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_writes_no_step_in_three_tries_fails_the_run() {
    let mut fixture = Fixture::new().await;
    fixture.pursue(&[json!("say \"I would rather chat.\"")]).await;
    let (text, done) = fixture.end().await;
    let problem = "the model wrote no valid step in 3 tries: there is no JSON object in the answer";
    assert_eq!(ended(&done), (RunEnd::Failed, Some(problem)));
    assert_eq!(text.matches("asking again").count(), 2, "{text}");

    fixture.pursue(&[json!("fail with \"no credit\"")]).await;
    assert_eq!(ended(&fixture.end().await.1), (RunEnd::Failed, Some("no credit")));
    fixture.pursue(&[json!("crash")]).await;
    assert_eq!(fixture.end().await.1.reason, RunEnd::Failed);
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_ends_at_its_last_step() {
    let mut fixture = Fixture::with(|settings| settings.agent.max_steps = 3).await;
    fixture.pursue(&[read()]).await;
    let (text, done) = fixture.end().await;
    assert_eq!(ended(&done), (RunEnd::MaxSteps, None));
    assert_eq!(text.matches("### Step ").count(), 3, "{text}");
    assert!(text.ends_with("Stopped: not done after 3 steps.\n"), "{text}");
    let request = MessageRequest {
        text: Some(format!("agent:\n{}", script(&[read()]))),
        max_steps: Some(1),
        ..MessageRequest::default()
    };
    fixture.bridge.send(request).await.expect("accepted");
    assert_eq!(fixture.end().await.1.reason, RunEnd::MaxSteps);
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_refuses_is_told_and_the_agent_goes_on() {
    let mut fixture = Fixture::with(|settings| {
        settings.agent.allowed_roots =
            AllowedRoots::Only(["src", "README.md"].map(str::to_owned).to_vec());
    })
    .await;
    fs::create_dir(fixture.folders[0].path().join("src")).expect("folder");
    fs::write(fixture.folders[0].path().join("other.md"), "x").expect("file");
    let steps = [
        edit("# Not read\n"),
        act(&json!({ "tool": "readFiles", "files": ["other.md"] })),
        act(&json!({ "tool": "createFile", "path": "../out.md", "content": "x" })),
        act(&json!({ "tool": "createFile", "path": "/tmp/out.md", "content": "x" })),
        act(&json!({ "tool": "runCommand", "command": "touch ran" })),
        act(&json!({ "tool": "deleteFile", "path": "README.md" })),
        finish("Nothing worked."),
    ];
    fixture.pursue(&steps).await;
    let (text, done) = fixture.end().await;
    assert_eq!(ended(&done), (RunEnd::Done, None));
    assert!(text.contains("read the whole file before it is edited"), "{text}");
    assert!(text.contains("unknown tool: `deleteFile`"), "{text}");
    assert_eq!(text.matches("Failed: ").count(), 6, "{text}");
    assert_eq!(fixture.text("README.md"), "# Hello\n");
    assert!(!fixture.exists("ran") && !fixture.exists("../out.md"));
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let mut fixture = Fixture::with(|settings| settings.agent.require_approval = true).await;
    let create = act(&json!({ "tool": "createFile", "path": "a", "content": "" }));
    fixture.pursue(&[read(), create, edit("# Stale\n"), finish("")]).await;
    let question = fixture.approval_request().await;
    fs::write(fixture.folders[0].path().join("README.md"), "# Newer\n").expect("file");
    fixture
        .bridge
        .decide(&question.approval_id.to_string(), true, false, "tester")
        .await
        .expect("pending");
    let (text, done) = fixture.end().await;
    assert_eq!(ended(&done), (RunEnd::Done, None));
    assert!(text.contains("changed since it was read, read it again"), "{text}");
    assert_eq!(fixture.text("README.md"), "# Newer\n");
    fixture.finish().await;
}

#[cfg(unix)]
#[tokio::test]
async fn commands_run_if_they_are_allowed() {
    let mut fixture = Fixture::with(|settings| settings.agent.allow_commands = true).await;
    let command = json!({ "tool": "runCommand", "command": "echo from the command" });
    fixture.pursue(&[act(&command), finish("")]).await;
    let (text, done) = fixture.end().await;
    assert_eq!(ended(&done), (RunEnd::Done, None));
    assert!(text.contains("from the command\n"), "{text}");
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_changes_before_it_is_approved() {
    let mut fixture = Fixture::with(|settings| settings.agent.require_approval = true).await;
    let create = act(&json!({ "tool": "createFile", "path": "new.md", "content": "new\n" }));
    let run = fixture.pursue(&[read(), edit("# Bye\n"), create, finish("ok")]).await;

    let question = fixture.approval_request().await;
    assert_eq!((question.id, &*question.action, &*question.path), (run, "editFile", "README.md"));
    assert!(question.diff.as_ref().is_some_and(|diff| diff.contains("-# Hello\n+# Bye")));
    assert_eq!(fixture.text("README.md"), "# Hello\n");
    let history = fixture.history().await;
    assert_eq!(history.approvals, std::slice::from_ref(&question));
    let id = question.approval_id.to_string();
    fixture.bridge.decide(&id, true, false, "tester").await.expect("pending");
    let decided = fixture.bridge.decide(&id, false, false, "tester").await;
    assert_eq!(decided, Err(BridgeError::ApprovalNotFound(id)), "the first decision counts");
    let Event::ApprovalDecision(decision) = fixture.event().await else { panic!("a decision") };
    assert!(decision.approved && decision.approval_id == question.approval_id);

    let question = fixture.approval_request().await;
    assert_eq!(fixture.text("README.md"), "# Bye\n");
    assert_eq!((&*question.action, &*question.path), ("createFile", "new.md"));
    assert_eq!(question.content_preview.as_deref(), Some("new\n"));
    fixture
        .bridge
        .decide(&question.approval_id.to_string(), false, false, "tester")
        .await
        .expect("pending");
    let (text, done) = fixture.end().await;
    assert_eq!(ended(&done), (RunEnd::Done, None));
    assert!(text.contains("Failed: refused by the user"), "{text}");
    assert!(!fixture.exists("new.md"));
    assert!(fixture.history().await.approvals.is_empty());
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_deciding_in_time_is_a_refusal() {
    let mut fixture = Fixture::with(|settings| settings.agent.require_approval = true).await;
    let create = act(&json!({ "tool": "createFile", "path": "new.md", "content": "new\n" }));
    fixture.pursue(&[create, finish("ok")]).await;
    let question = fixture.approval_request().await;
    let Event::ApprovalDecision(decision) = fixture.event().await else { panic!("a decision") };
    assert_eq!(decision.approval_id, question.approval_id);
    assert_eq!(decision.outcome, wire::PermissionOutcome::TimedOut);
    assert!(!decision.approved);
    let (text, done) = fixture.end().await;
    assert_eq!(ended(&done), (RunEnd::Done, None));
    assert!(text.contains("nobody approved it within 120 s"), "{text}");
    assert!(!fixture.exists("new.md"));
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn simulated_models_obey_plain_sentences_as_agents() {
    for model in ["simulated-standard", "simulated-quick", "gpt-5.2"] {
        let mut fixture = Fixture::new().await;
        let goal = "Use the readFiles tool with README.md. Say \"Now the page\", then use the \
             createFile tool with the arguments {\"path\":\"docs/new.md\",\"content\":\"new\\n\"}. \
             Finally say \"There is a page.\"";
        fixture.pursue_with(goal, model).await;
        let (text, done) = fixture.end().await;
        assert_eq!(ended(&done), (RunEnd::Done, None), "{model}: {text}");
        assert_eq!(fixture.text("docs/new.md"), "new\n");
        for part in [
            "### Step 1/12\n\nI use the readFiles tool.\n\n- **`readFiles`** `README.md`",
            "# Hello",
            "### Step 2/12\n\nNow the page\n\n- **`createFile`** `docs/new.md`",
            "### Step 3/12\n\nThere is a page.\n",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert!(!text.contains("Not a step"), "{text}");

        fixture.pursue_with("add a licence", model).await;
        let (text, done) = fixture.end().await;
        assert_eq!(ended(&done), (RunEnd::Done, None), "{model}: {text}");
        assert!(text.contains("I am a simulated model"), "{text}");
        fixture.pursue_with("fail with \"no credit\"", model).await;
        assert_eq!(ended(&fixture.end().await.1), (RunEnd::Failed, Some("no credit")));
        fixture.finish().await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn rights_are_taken_away_from_an_agent_at_work() {
    let mut fixture = Fixture::with(|settings| settings.agent.allow_commands = true).await;
    let folder = fixture.folders[0].path().to_owned();
    let run = |command: &str| act(&json!({ "tool": "runCommand", "command": command }));
    let create = |path: &str| act(&json!({ "tool": "createFile", "path": path, "content": "x" }));
    let (outside, inside) = (create("new.md"), create("docs/new.md"));
    let wait = run("touch started; while [ ! -e go ]; do sleep 0.01; done");
    fixture.pursue(&[wait, run("touch done"), outside, inside, finish("")]).await;
    let made = |name: &str| folder.join(name).exists();
    while !made("started") {
        tokio::task::yield_now().await;
    }
    let mut settings = fixture.bridge.settings().as_ref().clone();
    settings.agent.allow_commands = false;
    settings.agent.require_approval = true;
    settings.agent.allowed_roots = AllowedRoots::Only(vec!["docs".to_owned()]);
    fixture.bridge.set_settings(settings);
    fs::write(folder.join("go"), "").expect("file");
    let request = fixture.approval_request().await;
    assert_eq!((&*request.action, &*request.path), ("createFile", "docs/new.md"));
    fixture
        .bridge
        .decide(&request.approval_id.to_string(), false, false, "tester")
        .await
        .expect("it waits");
    assert_eq!(ended(&fixture.end().await.1), (RunEnd::Done, None));
    assert!(made("go") && !made("done") && !made("new.md") && !made("docs/new.md"));
    fixture.finish().await;
}
