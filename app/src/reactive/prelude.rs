//! What nearly every page and component uses.

pub(crate) use leptos::prelude::{
    Owner, component, document, event_target, event_target_checked, event_target_value,
    expect_context, on_cleanup, provide_context, request_animation_frame, set_interval_with_handle,
    set_timeout, set_timeout_with_handle, use_context, window, window_event_listener,
};

pub(crate) use super::callback::Callback;
pub(crate) use super::cell::{ArcRwSignal, RwSignal};
pub(crate) use super::effect::{Effect, spawn_local, untrack};
pub(crate) use super::memo::Memo;
pub(crate) use super::node_ref::NodeRef;
pub(crate) use super::signal::Signal;
pub(crate) use super::stored::StoredValue;
pub(crate) use super::{Readable, Writable};
