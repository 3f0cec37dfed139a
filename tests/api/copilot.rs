//! Jobs whose models run in the real Copilot CLI, on a scripted provider.

use std::sync::Arc;

use engine::agent::copilot::{Copilot, CopilotSettings, OwnProvider, ProviderKind};
use engine::agent::openai::{BaseUrl, KeySource, ProviderModel};
use stub_provider::{CHAT, StubProvider, brain, copilot_cli};
use tests::job::{assert_in_order, minutes};
use tests::{Options, TestApp};

/// The models of the sample, under the ids of the scripted provider.
const MODELS: [(&str, &str); 3] = [
    ("simulated-quick", "scripted-quick"),
    ("simulated-standard", "scripted-standard"),
    ("simulated-premium", "scripted-premium"),
];

fn own_provider(provider: &StubProvider) -> OwnProvider {
    let model = |id: &str| ProviderModel {
        id: id.to_owned(),
        name: None,
        multiplier: None,
        context_window: None,
    };
    OwnProvider {
        base_url: BaseUrl::parse(&provider.base_url()).expect("a URL"),
        key: KeySource::None,
        kind: ProviderKind::OpenAi,
        wire_api: None,
        models: MODELS.iter().map(|(_, id)| model(id)).collect(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_the_sample_succeeds_on_the_copilot_engine() {
    let provider = StubProvider::start().await.expect("loopback");
    provider.always_with(CHAT, brain::obey);
    let home = tempfile::tempdir().expect("temporary folder");
    let folder = tempfile::tempdir().expect("temporary folder");
    let copilot = Copilot::new(CopilotSettings {
        cli: Some(copilot_cli::program()),
        provider: Some(own_provider(&provider)),
        environment: copilot_cli::environment(home.path()),
        ..CopilotSettings::default()
    });
    let app = TestApp::with_backends(Options::default(), vec![Arc::new(copilot)]);
    let sample = MODELS
        .iter()
        .fold(engine::entry::SAMPLE.to_owned(), |sample, (old, new)| sample.replace(old, new));
    app.install_text(&sample).await;

    let job = app.start_job_in("ship-change", folder.path().to_str().expect("text")).await;
    let responses = job.read_to_the_end("t").await;
    assert_in_order(&responses);
    let all = minutes(&responses);
    assert!(all.ends_with("succeeded"), "{all}");
    // The interface has not changed, so there is no migration guide.
    assert_eq!((all.matches('-').count(), all.matches('!').count()), (8, 1), "{all}");

    let chats = provider.chats();
    for (_, id) in MODELS {
        assert!(chats.iter().any(|chat| chat["model"] == id), "{id} was never asked");
    }
    app.finish().await;
}
