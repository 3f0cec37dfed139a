//! Which routes act. The guard has to know before the router sees a request: what acts needs a proof
//! of intent, and not every caller may do it.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post};

use super::{AppState, error};
use crate::security::Deed;

/// The route table while it is built. A route that is added by [`route`](Self::route) only reads.
#[derive(Default)]
pub(super) struct Table {
    pub(super) router: Router<AppState>,
    pub(super) deeds: Deeds,
}

impl Table {
    /// An endpoint that only reads.
    pub(super) fn route(mut self, path: &str, methods: MethodRouter<AppState>) -> Self {
        self.deeds.add(path, Route { deed: Deed::Read, by_get: true });
        self.with(path, methods)
    }

    fn with(mut self, path: &str, methods: MethodRouter<AppState>) -> Self {
        self.router = self.router.route(path, methods);
        self
    }

    /// An acting endpoint: GET and POST.
    pub(super) fn act<H, T>(self, path: &str, handler: H) -> Self
    where
        H: Handler<T, AppState> + Clone,
        T: 'static,
    {
        self.get_and_post(path, Deed::Act, handler)
    }

    /// The same for what answers an agent.
    pub(super) fn answer<H, T>(self, path: &str, handler: H) -> Self
    where
        H: Handler<T, AppState> + Clone,
        T: 'static,
    {
        self.get_and_post(path, Deed::Answer, handler)
    }

    /// The same for what trusts an agent or changes its permissions.
    pub(super) fn govern<H, T>(self, path: &str, handler: H) -> Self
    where
        H: Handler<T, AppState> + Clone,
        T: 'static,
    {
        self.get_and_post(path, Deed::Govern, handler)
    }

    /// An endpoint that takes POST only.
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
        // By itself, GET would answer HEAD by acting.
        let methods = get(handler.clone()).post(handler).head(error::method_not_allowed);
        self.with(path, methods.layer(no_second_cap()))
    }
}

/// The guard caps every body; a second, smaller cap would only confuse. Only around what takes a
/// body: each layer around the whole router costs every request some allocations.
pub(super) fn no_second_cap() -> DefaultBodyLimit {
    DefaultBodyLimit::disable()
}

/// What a route does, and whether GET does it, too.
#[derive(Clone, Copy)]
struct Route {
    deed: Deed,
    by_get: bool,
}

/// What each path does. Matches paths as the router does.
#[derive(Default)]
pub(super) struct Deeds(matchit::Router<Route>);

impl Deeds {
    fn add(&mut self, path: &str, route: Route) {
        self.0.insert(path, route).expect("the router takes the same paths");
    }

    /// What a request to this path does, and whether a person who goes there is asked.
    pub(super) fn of(&self, path: &str, is_get: bool) -> (Deed, bool) {
        match self.0.at(path) {
            Ok(found) if found.value.by_get => (found.value.deed, found.value.deed != Deed::Read),
            Ok(found) if !is_get => (found.value.deed, false),
            // Not there, or not by this method.
            Ok(_) | Err(_) => (Deed::Read, false),
        }
    }
}
