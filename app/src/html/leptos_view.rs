//! Lets Leptos render and hydrate an [`Html`], so that it can be the whole app.

use leptos::attr::Attribute;
use leptos::attr::any_attribute::AnyAttribute;
use leptos::tachys::hydration::Cursor;
use leptos::tachys::renderer::types::{Element, Node};
use leptos::tachys::view::add_attr::AddAnyAttr;
use leptos::tachys::view::{Mountable, Position, PositionState, Render, RenderHtml};

use super::Html;

/// What an [`Html`] became in the document. It is the whole body, so it is never moved.
pub(crate) struct Root {
    #[cfg(feature = "hydrate")]
    _placed: super::browser::Placed,
}

impl Mountable for Root {
    fn unmount(&mut self) {}

    fn mount(&mut self, _parent: &Element, _marker: Option<&Node>) {}

    fn insert_before_this(&self, _child: &mut dyn Mountable) -> bool {
        false
    }

    fn elements(&self) -> Vec<Element> {
        Vec::new()
    }
}

impl Render for Html {
    type State = Root;

    fn build(self) -> Root {
        unreachable!("the app is always rendered by the server first")
    }

    fn rebuild(self, _state: &mut Root) {
        unreachable!("the root changes by its own effects")
    }
}

impl AddAnyAttr for Html {
    type Output<A: Attribute> = Self;

    fn add_any_attr<A: Attribute>(self, _attribute: A) -> Self {
        self
    }
}

impl RenderHtml for Html {
    type AsyncOutput = Self;
    type Owned = Self;

    const MIN_LENGTH: usize = 0;

    fn dry_resolve(&mut self) {}

    async fn resolve(self) -> Self {
        self
    }

    #[cfg_attr(not(feature = "ssr"), expect(unused_variables, reason = "only servers write"))]
    fn to_html_with_buf(
        self,
        page: &mut String,
        position: &mut Position,
        _escape: bool,
        _mark_branches: bool,
        _extra_attributes: Vec<AnyAttribute>,
    ) {
        #[cfg(feature = "ssr")]
        {
            self.write(page, &mut false);
            *position = Position::NextChild;
        }
    }

    #[cfg_attr(not(feature = "hydrate"), expect(unused_variables, reason = "only browsers do"))]
    fn hydrate<const FROM_SERVER: bool>(self, cursor: &Cursor, _position: &PositionState) -> Root {
        Root {
            #[cfg(feature = "hydrate")]
            _placed: super::browser::hydrate(self, &cursor.current()),
        }
    }

    fn into_owned(self) -> Self {
        self
    }
}
