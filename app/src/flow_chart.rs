//! Flow charts as plain data: where nodes lie, how arrows run, how all is drawn and how large.
//!
//! `components::flow_chart` puts into the page what is decided here. Nothing is measured in the
//! page: the server and every browser come to the same drawing.

pub(crate) mod draw;
pub(crate) mod focus;
pub(crate) mod layout;
pub(crate) mod look;
pub(crate) mod path;
pub(crate) mod text;
pub(crate) mod zoom;

#[cfg(test)]
mod tests;
