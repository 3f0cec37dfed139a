//! What a card says of the question that it asks: in words, and which of how many it is.

use wire::{
    InboxChoice, InboxItem, InboxKind, InboxOption, PermissionId, PermissionKind, PermissionRequest,
};

/// How commands begin in the server's titles.
const RUN: &str = "Run ";

/// The longest command that is repeated within a sentence.
const LONGEST: usize = 60;

/// The question of a tool or an agent in a session.
pub(crate) fn of_request(request: &PermissionRequest) -> String {
    match request.kind {
        PermissionKind::Question => request.title.clone(),
        PermissionKind::Command => of_act(&request.title, request.detail.as_deref()),
        _ => of_act(&request.title, None),
    }
}

/// The question of an item of the inbox, which does not say what kind of act it is about.
pub(crate) fn of_item(item: &InboxItem) -> String {
    let is_interrupted = item.kind == InboxKind::Interrupted && !item.is_about_work();
    if item.kind == InboxKind::Permission || is_interrupted {
        let is_command = item.title.starts_with(RUN);
        of_act(&item.title, item.detail.as_deref().filter(|_| is_command))
    } else {
        item.title.clone()
    }
}

/// Whether a tool may act. A command line stands below in full.
fn of_act(title: &str, command: Option<&str>) -> String {
    if command.is_some() {
        return "Run a command?".to_owned();
    }
    if title.ends_with('?') { title.to_owned() } else { format!("{title}?") }
}

/// The text that leads to the questions of a session; `None` if nothing waits. It names the first.
pub(crate) fn hint(waiting: usize, first: Option<&PermissionRequest>) -> Option<String> {
    let more = match waiting {
        0 => return None,
        1 => String::new(),
        many => format!(" And {} more.", many - 1),
    };
    Some(match first {
        Some(first) => format!("Waits for you: {}{more}", clause(first)),
        None => format!("Waits for you.{more}"),
    })
}

/// A question within a sentence: run `cargo test`?
fn clause(request: &PermissionRequest) -> String {
    let command = request.detail.as_deref().filter(|_| request.kind == PermissionKind::Command);
    if let Some(command) = command.and_then(|command| command.lines().next()) {
        return format!("run `{}`?", shortened(command));
    }
    let question = of_request(request);
    if request.kind == PermissionKind::Question {
        return question;
    }
    let mut letters = question.chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Where a question stands among those that wait with it: `1 of 2`; `None` if it waits alone.
pub(crate) fn place(ids: impl Iterator<Item = PermissionId>, id: PermissionId) -> Option<String> {
    let (mut at, mut count) = (None, 0_usize);
    for other in ids {
        count += 1;
        if other == id {
            at = Some(count);
        }
    }
    at.filter(|_| count > 1).map(|at| format!("{at} of {count}"))
}

/// The key by which an answer is given on a card that has the focus.
pub(crate) fn key_of_choice(choice: InboxChoice) -> Option<&'static str> {
    match choice {
        InboxChoice::Approve => Some("Y"),
        InboxChoice::Deny => Some("N"),
        _ => None,
    }
}

/// The offered answer that a key stands for.
pub(crate) fn choice_of_key(key: &str, options: &[InboxOption]) -> Option<InboxChoice> {
    let offered = options.iter().map(|option| option.id);
    let mut meant = offered
        .filter(|choice| key_of_choice(*choice).is_some_and(|own| own.eq_ignore_ascii_case(key)));
    meant.next()
}

/// The question to go on with when one of those that waited has gone: the one after it, or else the
/// last one.
pub(crate) fn next_after<T: PartialEq + Copy>(before: &[T], now: &[T], gone: T) -> Option<T> {
    let at = before.iter().position(|id| *id == gone)?;
    let after = before[at..].iter().find(|id| now.contains(id));
    after.or(now.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: PermissionKind, title: &str, detail: Option<&str>) -> PermissionRequest {
        PermissionRequest {
            kind,
            title: title.to_owned(),
            path: None,
            detail: detail.map(str::to_owned),
            diff: None,
            each_time: false,
        }
    }

    #[test]
    fn a_question_is_asked_in_words() {
        use PermissionKind::{Command, Create, Question};
        for (request, words, said) in [
            (
                request(Command, "Run cargo", Some("cargo test -p server\nls")),
                "Run a command?",
                "Waits for you: run `cargo test -p server`?",
            ),
            (request(Command, "Run make", None), "Run make?", "Waits for you: run make?"),
            (
                request(Create, "Create a.txt", Some("hi")),
                "Create a.txt?",
                "Waits for you: create a.txt?",
            ),
            (request(Question, "Which name?", None), "Which name?", "Waits for you: Which name?"),
            (request(Question, "Say it.", None), "Say it.", "Waits for you: Say it."),
        ] {
            assert_eq!(of_request(&request), words);
            assert_eq!(hint(1, Some(&request)).as_deref(), Some(said));
        }
    }

    #[test]
    fn the_hint_counts_what_waits_behind_the_first() {
        let first = request(PermissionKind::Command, "Run x", Some(&"x".repeat(100)));
        assert_eq!(hint(0, Some(&first)), None);
        assert_eq!(hint(2, None).as_deref(), Some("Waits for you. And 1 more."));
        let text = hint(3, Some(&first)).expect("a text");
        assert_eq!(text, format!("Waits for you: run `{}…`? And 2 more.", "x".repeat(LONGEST)));
    }

    #[test]
    fn an_item_of_the_inbox_asks_the_same() {
        let item = |kind: InboxKind, title: &str, options: &[wire::InboxChoice]| InboxItem {
            id: id(1),
            kind,
            title: title.to_owned(),
            detail: Some("cargo test".to_owned()),
            path: None,
            diff: None,
            options: options
                .iter()
                .map(|id| wire::InboxOption { id: *id, label: String::new() })
                .collect(),
            asked_at: String::new(),
            expires_at: None,
            session_id: None,
            task_id: None,
            job_id: None,
            work_id: None,
            folder: "/src".to_owned(),
        };
        for (item, words) in [
            (item(InboxKind::Permission, "Run cargo", &[]), "Run a command?"),
            (item(InboxKind::Permission, "Create a.txt", &[]), "Create a.txt?"),
            (item(InboxKind::Interrupted, "Run cargo", &[]), "Run a command?"),
            (item(InboxKind::Interrupted, "Run on", &[wire::InboxChoice::Continue]), "Run on"),
            (item(InboxKind::Question, "Which name", &[]), "Which name"),
        ] {
            assert_eq!(of_item(&item), words);
        }
    }

    fn id(number: u32) -> PermissionId {
        format!("permission-00000000-0000-4000-8000-{number:012}").parse().expect("an id")
    }

    #[test]
    fn one_of_several_says_which() {
        let place = |ids: &[u32], own| place(ids.iter().map(|number| id(*number)), id(own));
        assert_eq!(place(&[1, 2, 3], 2).as_deref(), Some("2 of 3"));
        assert_eq!(place(&[1], 1), None, "it waits alone");
        assert_eq!(place(&[1, 3], 2), None, "it does not wait any more");
    }

    #[test]
    fn keys_give_the_answers_that_are_offered() {
        let options = |ids: &[InboxChoice]| {
            let option = |id: &InboxChoice| InboxOption { id: *id, label: String::new() };
            ids.iter().map(option).collect::<Vec<_>>()
        };
        let asked = options(&[InboxChoice::Approve, InboxChoice::ApproveAlways, InboxChoice::Deny]);
        assert_eq!(choice_of_key("y", &asked), Some(InboxChoice::Approve));
        assert_eq!(choice_of_key("N", &asked), Some(InboxChoice::Deny));
        assert_eq!(choice_of_key("a", &asked), None);
        let question = options(&[InboxChoice::Answer, InboxChoice::Decline]);
        assert_eq!(choice_of_key("n", &question), None);
    }

    #[test]
    fn the_next_question_is_the_one_below() {
        assert_eq!(next_after(&[1, 2, 3], &[1, 3], 2), Some(3));
        assert_eq!(next_after(&[1, 2, 3], &[1, 2], 3), Some(2));
        assert_eq!(next_after(&[1, 2, 3], &[4], 2), Some(4), "both have gone");
        assert_eq!(next_after(&[1], &[], 1), None);
        assert_eq!(next_after(&[1], &[1], 2), None, "it was not there");
    }
}
