//! Which routes act. The guard has to know this before the router sees a request: acting needs a
//! proof of intent, and not every caller may do it.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post};

use super::{AppState, error};
use crate::security::Deed;

/// The route table while it is being built. Routes added by [`route`](Self::route) only read.
#[derive(Default)]
pub(super) struct Table {
    pub(super) router: Router<AppState>,
    pub(super) deeds: Deeds,
}

impl Table {
    /// Adds an endpoint that only reads.
    pub(super) fn route(mut self, path: &str, methods: MethodRouter<AppState>) -> Self {
        self.deeds.add(path, Route { deed: Deed::Read, by_get: true });
        self.with(path, methods)
    }

    fn with(mut self, path: &str, methods: MethodRouter<AppState>) -> Self {
        self.router = self.router.route(path, methods);
        self
    }

    /// Adds an acting endpoint, for GET and POST.
    pub(super) fn act<H, T>(self, path: &str, handler: H) -> Self
    where
        H: Handler<T, AppState> + Clone,
        T: 'static,
    {
        self.get_and_post(path, Deed::Act, handler)
    }

    /// Adds an endpoint that answers an agent's question, for GET and POST.
    pub(super) fn answer<H, T>(self, path: &str, handler: H) -> Self
    where
        H: Handler<T, AppState> + Clone,
        T: 'static,
    {
        self.get_and_post(path, Deed::Answer, handler)
    }

    /// Adds an endpoint that trusts an agent or changes its permissions, for GET and POST.
    pub(super) fn govern<H, T>(self, path: &str, handler: H) -> Self
    where
        H: Handler<T, AppState> + Clone,
        T: 'static,
    {
        self.get_and_post(path, Deed::Govern, handler)
    }

    /// Adds an endpoint that reads by GET, and trusts an agent or changes its rights by POST.
    pub(super) fn read_or_govern<R, Q, H, T>(mut self, path: &str, read: R, govern: H) -> Self
    where
        R: Handler<Q, AppState>,
        Q: 'static,
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.deeds.add(path, Route { deed: Deed::Govern, by_get: false });
        self.with(path, get(read).post(govern).layer(no_second_cap()))
    }

    /// Adds an endpoint for POST only.
    pub(super) fn post<H, T>(mut self, path: &str, deed: Deed, handler: H) -> Self
    where
        H: Handler<T, AppState> + Clone,
        T: 'static,
    {
        self.deeds.add(path, Route { deed, by_get: false });
        self.with(path, post(handler).layer(no_second_cap()))
    }

    fn get_and_post<H, T>(mut self, path: &str, deed: Deed, handler: H) -> Self
    where
        H: Handler<T, AppState> + Clone,
        T: 'static,
    {
        self.deeds.add(path, Route { deed, by_get: true });
        // Otherwise HEAD would call the GET handler and act.
        let methods = get(handler.clone()).post(handler).head(error::method_not_allowed);
        self.with(path, methods.layer(no_second_cap()))
    }
}

/// Disables axum's limit: the guard limits every body, and a second, smaller limit would only
/// confuse. Used only for routes with a body, because a layer around the whole router costs every
/// request some allocations.
pub(super) fn no_second_cap() -> DefaultBodyLimit {
    DefaultBodyLimit::disable()
}

/// What a route does, and whether it does so by GET.
#[derive(Clone, Copy)]
struct Route {
    deed: Deed,
    by_get: bool,
}

/// What each path does. Matches paths in the same way as the router.
#[derive(Default)]
pub(super) struct Deeds(matchit::Router<Route>);

impl Deeds {
    fn add(&mut self, path: &str, route: Route) {
        self.0.insert(path, route).expect("the router takes the same paths");
    }

    /// What a request to this path does, and whether a person who navigates there is asked.
    pub(super) fn of(&self, path: &str, is_get: bool) -> (Deed, bool) {
        match self.0.at(path) {
            Ok(found) if found.value.by_get => (found.value.deed, found.value.deed != Deed::Read),
            Ok(found) if !is_get => (found.value.deed, false),
            // No such path, or not with this method.
            Ok(_) | Err(_) => (Deed::Read, false),
        }
    }
}
