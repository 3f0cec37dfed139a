use wire::bridge::{Mode, ProjectMessageEnd, RunEnd};

use super::*;

fn id(number: u32) -> MessageId {
    format!("message-00000000-0000-4000-8000-{number:012}").parse().expect("an id")
}

fn message(number: u32) -> SessionResponse {
    SessionResponse::ProjectMessage(ProjectMessage {
        id: id(number),
        text: format!("prompt {number}"),
        mode: Mode::Prompt,
        max_steps: None,
        model: Some("m".to_owned()),
    })
}

fn end(number: u32) -> SessionResponse {
    let (id, reason, error) = (id(number), RunEnd::Done, None);
    SessionResponse::ProjectMessageEnd(ProjectMessageEnd { id, reason, error })
}

fn prompt(number: u32) -> SessionResponse {
    SessionResponse::UserPrompt { prompt: format!("prompt {number}") }
}

fn start(block: &str) -> SessionResponse {
    SessionResponse::StartMessage { message_id: block.to_owned() }
}

fn delta(block: &str, text: &str) -> SessionResponse {
    SessionResponse::Message { message_id: block.to_owned(), delta: text.to_owned() }
}

fn complete(block: &str, text: &str) -> SessionResponse {
    let (message_id, complete_content) = (block.to_owned(), text.to_owned());
    SessionResponse::EndMessage { message_id, complete_content }
}

/// Two messages, one of which waits for the other, as they are pushed.
fn live() -> Vec<SessionResponse> {
    vec![
        message(1),
        prompt(1),
        SessionResponse::Reasoning { reasoning_id: "r".to_owned(), delta: "hm".to_owned() },
        start("a"),
        delta("a", "Grü"),
        message(2),
        delta("a", "ße, "),
        delta("a", "you"),
        complete("a", "Grüße, you"),
        start("b"),
        delta("b", "Bye"),
        complete("b", "Bye"),
        end(1),
        SessionResponse::Idle,
        prompt(2),
        start("c"),
        complete("c", "All at once"),
        end(2),
        SessionResponse::Idle,
    ]
}

/// The same as it is stored: without the deltas.
fn stored() -> Vec<SessionResponse> {
    let is_delta = |response: &SessionResponse| {
        matches!(response, SessionResponse::Message { .. } | SessionResponse::Reasoning { .. })
    };
    live().into_iter().filter(|response| !is_delta(response)).collect()
}

/// Reads everything, and returns what is new since a place, in short, with the places after it.
fn read(responses: &[SessionResponse], since: &Position) -> Vec<(String, Position)> {
    let mut reading = Reading::new("p", "default");
    let mut told = Vec::new();
    for response in responses {
        if let Some(event) = reading.take(0, response, since) {
            let text = match event {
                Event::Inbound(message) => format!("<{}>", message.text),
                Event::Fragment(piece) => piece.fragment,
                Event::Done(_) => "<done>".to_owned(),
                other => panic!("{other:?}"),
            };
            told.push((text, reading.place()));
        }
    }
    told
}

fn text(told: &[(String, Position)]) -> String {
    told.iter().map(|(text, _)| text.as_str()).collect()
}

#[test]
fn a_session_is_told_as_events() {
    let told: Vec<_> =
        read(&live(), &Position::default()).into_iter().map(|(text, _)| text).collect();
    let expected = [
        "<prompt 1>",
        "Grü",
        "<prompt 2>",
        "ße, ",
        "you",
        "\n\nBye",
        "<done>",
        "All at once",
        "<done>",
    ];
    assert_eq!(told, expected);
}

#[test]
fn from_every_place_what_follows_is_told_once() {
    let all = read(&live(), &Position::default());
    for (number, (_, place)) in all.iter().enumerate() {
        let place: Position = place.to_string().parse().expect("a place");
        let rest = read(&live(), &place);
        assert_eq!(rest, all[number + 1..], "{place}");
    }
}

#[test]
fn what_was_read_live_goes_on_with_what_is_stored() {
    let all = read(&live(), &Position::default());
    // Compaction moves a text to the end of its message, which changes its order among other
    // events, but neither loses nor repeats anything.
    let answer = |told: &[(String, Position)]| {
        let pieces = told.iter().filter(|(text, _)| !text.starts_with('<'));
        pieces.map(|(text, _)| text.as_str()).collect::<String>()
    };
    for (number, (_, place)) in all.iter().enumerate() {
        let rest = read(&stored(), place);
        assert_eq!(answer(&all[..=number]) + &answer(&rest), answer(&all), "{place}");
        let others = |told: &[(String, Position)]| {
            told.iter().filter(|(text, _)| text.starts_with('<')).count()
        };
        assert_eq!(others(&all[..=number]) + others(&rest), others(&all), "{place}");
    }
    assert_eq!(text(&read(&stored(), &Position::default())).matches("Grüße, you").count(), 1);
}
