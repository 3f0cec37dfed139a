//! What keys and buttons of the composer do.

/// A key that was pressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    /// Its name, such as `Enter`.
    pub(crate) name: &'a str,
    /// Control, or Command on a Mac.
    pub(crate) control: bool,
    pub(crate) shift: bool,
    /// Whether it belongs to an input method, which composes a character.
    pub(crate) composing: bool,
}

/// What the composer is about at that moment.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each of them decides by itself")]
pub(crate) struct Moment {
    /// Whether the agent works.
    pub(crate) working: bool,
    /// Whether there is nothing to send: no text but blanks, and no task that does without.
    pub(crate) empty: bool,
    /// Whether completions are offered.
    pub(crate) completing: bool,
    /// The setting that Enter sends; never on a phone.
    pub(crate) enter_sends: bool,
    /// Whether the backend takes prompts in a running turn.
    pub(crate) can_steer: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Send,
    Queue,
    Steer,
    /// Asks once, then aborts the turn.
    Abort,
    /// Takes the completion that is marked.
    Pick,
    /// Marks the next completion, or the one before.
    Mark {
        next: bool,
    },
    CloseCompletions,
    /// Brings back the prompt before, or the one after, if the history has one for the text.
    Recall {
        earlier: bool,
    },
    /// Nothing, not even what the browser would do.
    Ignore,
}

/// What a key does; `None` if the browser is to handle it.
pub(crate) fn act(key: Key<'_>, moment: Moment) -> Option<Act> {
    if key.composing {
        return None;
    }
    let is_plain = !key.control && !key.shift;
    match key.name {
        "Tab" | "Enter" if moment.completing && is_plain => Some(Act::Pick),
        "ArrowDown" | "ArrowUp" if moment.completing && is_plain => {
            Some(Act::Mark { next: key.name == "ArrowDown" })
        }
        "Escape" if moment.completing => Some(Act::CloseCompletions),
        "Escape" if moment.working => Some(Act::Abort),
        // Until the agent is idle, sending is inert: nothing is queued by accident.
        "Enter" if key.control && !key.shift && moment.working => Some(Act::Ignore),
        "Enter" if key.control => Some(submit(moment)),
        "Enter" if is_plain && moment.enter_sends => Some(submit(moment)),
        "ArrowUp" | "ArrowDown" if is_plain => Some(Act::Recall { earlier: key.name == "ArrowUp" }),
        _ => None,
    }
}

fn submit(moment: Moment) -> Act {
    match (moment.empty, moment.working) {
        (true, _) => Act::Ignore,
        (false, true) => Act::Queue,
        (false, false) => Act::Send,
    }
}

/// The button that stands out.
pub(crate) fn primary(moment: Moment) -> Act {
    match (moment.working, moment.empty) {
        (true, true) => Act::Abort,
        (true, false) => Act::Queue,
        (false, _) => Act::Send,
    }
}

/// Whether the button for something can be pressed.
pub(crate) fn is_enabled(act: Act, moment: Moment) -> bool {
    match act {
        // Also with an empty box: that the agent is idle must be seen.
        Act::Send => !moment.working,
        Act::Queue => moment.working && !moment.empty,
        Act::Steer => moment.working && !moment.empty && moment.can_steer,
        Act::Abort => moment.working,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Moment = Moment {
        working: false,
        empty: false,
        completing: false,
        enter_sends: false,
        can_steer: false,
    };
    const IDLE: Moment = NONE;
    const IDLE_EMPTY: Moment = Moment { empty: true, ..NONE };
    const WORKING: Moment = Moment { working: true, ..NONE };
    const WORKING_EMPTY: Moment = Moment { working: true, empty: true, ..NONE };
    const COMPLETING: Moment = Moment { completing: true, working: true, ..NONE };

    /// A key with its modifiers: `C-S-Enter`.
    fn key(spelt: &str) -> Key<'_> {
        let name = spelt.rsplit('-').next().unwrap_or_default();
        let control = spelt.contains("C-");
        Key { name, control, shift: spelt.contains("S-"), composing: false }
    }

    #[test]
    fn keys_do_what_the_moment_allows() {
        for (spelt, moment, done) in [
            ("C-Enter", IDLE, Some(Act::Send)),
            ("C-Enter", IDLE_EMPTY, Some(Act::Ignore)),
            ("C-Enter", WORKING, Some(Act::Ignore)),
            ("C-S-Enter", WORKING, Some(Act::Queue)),
            ("C-S-Enter", WORKING_EMPTY, Some(Act::Ignore)),
            // The agent became idle in the meantime.
            ("C-S-Enter", IDLE, Some(Act::Send)),
            ("Enter", IDLE, None),
            ("S-Enter", IDLE, None),
            ("Escape", WORKING, Some(Act::Abort)),
            ("Escape", IDLE, None),
            ("ArrowUp", IDLE, Some(Act::Recall { earlier: true })),
            ("ArrowDown", WORKING_EMPTY, Some(Act::Recall { earlier: false })),
            ("S-ArrowUp", IDLE, None),
            ("C-ArrowUp", IDLE, None),
            ("Tab", IDLE, None),
            ("a", IDLE, None),
            // Pop-ups first.
            ("Enter", COMPLETING, Some(Act::Pick)),
            ("Tab", COMPLETING, Some(Act::Pick)),
            ("S-Tab", COMPLETING, None),
            ("ArrowDown", COMPLETING, Some(Act::Mark { next: true })),
            ("ArrowUp", COMPLETING, Some(Act::Mark { next: false })),
            ("Escape", COMPLETING, Some(Act::CloseCompletions)),
            ("C-S-Enter", COMPLETING, Some(Act::Queue)),
        ] {
            assert_eq!(act(key(spelt), moment), done, "{spelt} {moment:?}");
            let composing = Key { composing: true, ..key(spelt) };
            assert_eq!(act(composing, moment), None, "{spelt} while composing");
        }
    }

    #[test]
    fn enter_sends_where_a_person_wants_it() {
        for (spelt, moment, done) in [
            ("Enter", IDLE, Some(Act::Send)),
            ("Enter", IDLE_EMPTY, Some(Act::Ignore)),
            ("Enter", WORKING, Some(Act::Queue)),
            ("S-Enter", IDLE, None),
            ("Enter", COMPLETING, Some(Act::Pick)),
        ] {
            assert_eq!(act(key(spelt), Moment { enter_sends: true, ..moment }), done, "{spelt}");
        }
    }

    #[test]
    fn buttons_offer_what_can_be_done() {
        use Act::{Abort, Queue, Send, Steer};
        let steers = Moment { can_steer: true, ..WORKING };
        let steers_nothing = Moment { can_steer: true, ..WORKING_EMPTY };
        for (moment, first, enabled) in [
            (IDLE, Send, &[Send][..]),
            (IDLE_EMPTY, Send, &[Send]),
            (WORKING, Queue, &[Queue, Abort]),
            (WORKING_EMPTY, Abort, &[Abort]),
            (steers, Queue, &[Queue, Steer, Abort]),
            (steers_nothing, Abort, &[Abort]),
            (Moment { can_steer: true, ..IDLE }, Send, &[Send]),
        ] {
            assert_eq!(primary(moment), first, "{moment:?}");
            let all = [Send, Queue, Steer, Abort, Act::Pick];
            let found: Vec<_> = all.into_iter().filter(|act| is_enabled(*act, moment)).collect();
            assert_eq!(found, enabled, "{moment:?}");
        }
    }
}
