//! The types can be sent to another thread, or used by several, exactly as rayon-core's can:
//! programs depend on either.

use rayon_core::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError,
    ThreadPoolBuilder,
};
use static_assertions::{assert_impl_all, assert_not_impl_any};

assert_impl_all!(ThreadPool: Send, Sync);
assert_impl_all!(Scope<'static>: Send, Sync);
assert_impl_all!(ScopeFifo<'static>: Send, Sync);
assert_impl_all!(ThreadPoolBuildError: Send, Sync);
assert_impl_all!(ThreadBuilder: Send);
assert_not_impl_any!(ThreadBuilder: Sync);
assert_not_impl_any!(ThreadPoolBuilder: Send, Sync);
assert_not_impl_any!(FnContext: Send, Sync);
assert_not_impl_any!(BroadcastContext<'static>: Send, Sync);
