//! The same job on each backend: simulated models, an OpenAI-compatible provider, the real Copilot
//! CLI. The provider and the CLI's models are scripted, on loopback.

use std::sync::Arc;

use agents::AgentBackend;
use agents::openai::{OpenAi, ProviderSettings};
use agents::provider::{BaseUrl, ProviderModel};
use stub_provider::{CHAT, StubProvider, brain};
use tests::job::{assert_in_order, minutes};
use tests::{Options, TestApp};

/// The models of the sample, under the ids of the scripted provider.
const MODELS: [(&str, &str); 3] = [
    ("simulated-quick", "scripted-quick"),
    ("simulated-standard", "scripted-standard"),
    ("simulated-premium", "scripted-premium"),
];

async fn obedient_provider() -> StubProvider {
    let provider = StubProvider::start().await.expect("loopback");
    provider.always_with(CHAT, brain::obey);
    provider
}

fn base_url(provider: &StubProvider) -> BaseUrl {
    BaseUrl::parse(&provider.base_url()).expect("a URL")
}

fn scripted_models() -> Vec<ProviderModel> {
    let model = |(_, id): &(&str, &str)| ProviderModel {
        id: (*id).to_owned(),
        name: None,
        multiplier: None,
        context_window: None,
    };
    MODELS.iter().map(model).collect()
}

/// Runs a job of the sample and asserts that it went as its tasks define.
async fn run_the_sample(app: &TestApp, sample: &str) {
    let folder = tempfile::tempdir().expect("temporary folder");
    app.install_text(sample).await;
    let job = app.start_job_in("ship-change", folder.path().to_str().expect("text")).await;
    let responses = job.read_to_the_end("t").await;
    assert_in_order(&responses);
    let all = minutes(&responses);
    assert!(all.ends_with("succeeded"), "{all}");
    // The interface has not changed, so there is no migration guide.
    assert_eq!((all.matches('-').count(), all.matches('!').count()), (8, 1), "{all}");
    app.finish().await;
}

async fn run_on(provider: &StubProvider, backend: Arc<dyn AgentBackend>) {
    let app = TestApp::with_backends(Options::default(), vec![backend]);
    let sample = MODELS
        .iter()
        .fold(engine::entry::SAMPLE.to_owned(), |sample, (old, new)| sample.replace(old, new));
    run_the_sample(&app, &sample).await;
    let chats = provider.chats();
    for (_, id) in MODELS {
        assert!(chats.iter().any(|chat| chat["model"] == id), "{id} was never asked");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_of_the_sample_succeeds_on_simulated_models() {
    run_the_sample(&TestApp::new(), engine::entry::SAMPLE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_the_sample_succeeds_on_the_built_in_engine() {
    let provider = obedient_provider().await;
    let settings = ProviderSettings {
        models: scripted_models(),
        ..ProviderSettings::new("scripted", base_url(&provider))
    };
    run_on(&provider, Arc::new(OpenAi::new(settings))).await;
}

#[cfg(feature = "copilot")]
#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_the_sample_succeeds_on_the_copilot_engine() {
    use agents::provider::KeySource;
    use copilot::Copilot;
    use copilot::settings::{CopilotSettings, OwnProvider, ProviderKind};
    use stub_provider::copilot_cli;

    let provider = obedient_provider().await;
    let home = tempfile::tempdir().expect("temporary folder");
    let copilot = Copilot::new(CopilotSettings {
        cli: Some(copilot_cli::program()),
        provider: Some(OwnProvider {
            base_url: base_url(&provider),
            key: KeySource::None,
            kind: ProviderKind::OpenAi,
            wire_api: None,
            models: scripted_models(),
        }),
        environment: copilot_cli::environment(home.path()),
        ..CopilotSettings::default()
    });
    run_on(&provider, Arc::new(copilot)).await;
}
