//! Flow charts as plain data: where nodes lie, how arrows run, how large it is shown.
//!
//! `components::flow_chart` draws what is decided here. No measuring in the page: the server and
//! every browser come to the same drawing.

pub(crate) mod focus;
pub(crate) mod layout;
pub(crate) mod path;
pub(crate) mod text;
pub(crate) mod zoom;

#[cfg(test)]
mod tests;
