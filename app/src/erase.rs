//! Type-erased views, at half the size.
//!
//! Leptos' own `into_any` keeps two ways to hydrate a view: at once, and waiting for parts that
//! load later. Nothing here loads later, but the compiler cannot know that, and the second way was
//! a tenth of the download. [`Erase::erase`] keeps only the first.

use std::future::Future;

use leptos::prelude::*;
use leptos::tachys::html::attribute::Attribute;
use leptos::tachys::html::attribute::any_attribute::AnyAttribute;
use leptos::tachys::hydration::Cursor;
use leptos::tachys::ssr::StreamBuilder;
use leptos::tachys::view::{Position, PositionState};

/// Any view can be erased.
pub(crate) trait Erase {
    /// The view without its type. Use it instead of `into_any`.
    fn erase(self) -> AnyView;
}

impl<V: RenderHtml> Erase for V {
    fn erase(self) -> AnyView {
        AtOnce(self.into_owned()).into_any()
    }
}

/// A view that never waits. Forwards everything to the view except `hydrate_async`, which keeps the
/// trait's default.
struct AtOnce<V>(V);

impl<V: RenderHtml> Render for AtOnce<V> {
    type State = V::State;

    fn build(self) -> V::State {
        self.0.build()
    }

    fn rebuild(self, state: &mut V::State) {
        self.0.rebuild(state);
    }
}

impl<V: RenderHtml + 'static> AddAnyAttr for AtOnce<V> {
    type Output<A: Attribute> = V::Output<A>;

    fn add_any_attr<A: Attribute>(self, attribute: A) -> V::Output<A>
    where
        V::Output<A>: RenderHtml,
    {
        self.0.add_any_attr(attribute)
    }
}

impl<V: RenderHtml + 'static> RenderHtml for AtOnce<V> {
    type AsyncOutput = V::AsyncOutput;
    type Owned = Self;

    const MIN_LENGTH: usize = V::MIN_LENGTH;
    const EXISTS: bool = V::EXISTS;

    fn dry_resolve(&mut self) {
        self.0.dry_resolve();
    }

    fn resolve(self) -> impl Future<Output = V::AsyncOutput> + Send {
        self.0.resolve()
    }

    fn html_len(&self) -> usize {
        self.0.html_len()
    }

    fn to_html_with_buf(
        self,
        buffer: &mut String,
        position: &mut Position,
        escape: bool,
        mark_branches: bool,
        extra_attributes: Vec<AnyAttribute>,
    ) {
        self.0.to_html_with_buf(buffer, position, escape, mark_branches, extra_attributes);
    }

    fn to_html_async_with_buf<const OUT_OF_ORDER: bool>(
        self,
        buffer: &mut StreamBuilder,
        position: &mut Position,
        escape: bool,
        mark_branches: bool,
        extra_attributes: Vec<AnyAttribute>,
    ) {
        self.0.to_html_async_with_buf::<OUT_OF_ORDER>(
            buffer,
            position,
            escape,
            mark_branches,
            extra_attributes,
        );
    }

    fn hydrate<const FROM_SERVER: bool>(
        self,
        cursor: &Cursor,
        position: &PositionState,
    ) -> V::State {
        self.0.hydrate::<FROM_SERVER>(cursor, position)
    }

    fn into_owned(self) -> Self {
        self
    }
}
