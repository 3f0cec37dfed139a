//! A file that was sent with a prompt: a small picture, or its name, which leads to the file.

use wire::{AttachmentKind, SessionId};

use crate::api::attachments::attachment_url;
use crate::components::icon::draw_icon;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::state::composer::attachments::{Chip, ChipState};

/// The files of a prompt; draws nothing if there are none.
pub(crate) fn draw_attachments(session: SessionId, files: &[Chip]) -> Html {
    let files = files.iter().filter_map(|file| match file.state {
        ChipState::Ready { kind, id, .. } => Some((kind, attachment_url(session, id), &file.name)),
        _ => None,
    });
    let files = files.map(|(kind, url, name)| draw_file(kind, url, name.clone()));
    // Around it, links to this server are refused: there, models write them.
    html! {
        <div class="attachments" on:click=|event| event.stop_propagation()>
            {files.collect::<Html>()}
        </div>
    }
}

fn draw_file(kind: AttachmentKind, url: String, name: String) -> Html {
    match kind {
        AttachmentKind::Image => html! {
            <a class="attachment" href=url.clone() target="_blank" title=name.clone()>
                <img src=url alt=name loading="lazy" />
            </a>
        },
        AttachmentKind::Text => html! {
            <a class="chip" href=url download=name.clone()>
                {draw_icon(Icon::File)}
                {name}
            </a>
        },
    }
}
