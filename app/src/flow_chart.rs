//! Flow charts as plain data: positions of nodes, routes of arrows, drawing and zoom.
//!
//! `components::flow_chart` renders what is computed here. Nothing is measured in the page: the
//! server and every browser produce the same drawing.

pub(crate) mod draw;
pub(crate) mod focus;
pub(crate) mod layout;
pub(crate) mod look;
pub(crate) mod path;
pub(crate) mod text;
pub(crate) mod zoom;

#[cfg(test)]
mod tests;
