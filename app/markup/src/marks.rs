//! The marks between the parts of a template.
//!
//! A part ends where the next mark begins. `app::html::template` reads them, from this very file.

/// Begins an element: its tag follows.
pub(crate) const ELEMENT: char = '\u{1}';
/// Ends the element that was begun last.
pub(crate) const END: char = '\u{2}';
/// A text follows.
pub(crate) const TEXT: char = '\u{3}';
/// The name of an attribute follows, and then its value.
pub(crate) const KNOWN_ATTRIBUTE: char = '\u{4}';
/// The value of an attribute follows.
pub(crate) const VALUE: char = '\u{5}';
/// A gap for content.
pub(crate) const CHILD: char = '\u{6}';
/// A gap for the value of an attribute, whose name follows.
pub(crate) const ATTRIBUTE: char = '\u{7}';
/// A gap for the value of a class, whose name follows.
pub(crate) const CLASS: char = '\u{8}';
/// A gap for a listener.
pub(crate) const LISTENER: char = '\u{e}';
/// A gap for the value of a property, whose name follows.
pub(crate) const PROPERTY: char = '\u{f}';
/// A gap for a reference.
pub(crate) const REFERENCE: char = '\u{10}';
/// A gap for content as HTML.
pub(crate) const INNER_HTML: char = '\u{11}';

/// No text of a template has a character below this one, but line breaks.
pub(crate) const LIMIT: char = ' ';
