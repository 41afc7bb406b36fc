//! The built-in replacement for HAMi's scheduler: `headroom extender`, a process of its own.
//!
//! In: HAMi's command-line flags, its device file, `KUBECONFIG`, and kube-scheduler's questions over HTTP. Out: the calls to
//! the API server that HAMi v2.10 makes for the same question, in the same order and under the same kind of client limit,
//! and the annotations that its device plugin reads. It must never wait on purpose: only the client limit, the node lock and
//! the API server make it slow, as they do HAMi.
//!
//! It serves only NVIDIA cards in shared mode. It does not have MIG (such cards count as unhealthy), cards of other vendors
//! (but it makes their handshakes, which are part of HAMi's start-up costs), the admission webhook, TLS, and the leader label
//! on HAMi's own pods.
//!
//! | concern | module |
//! |---|---|
//! | command line, device file | [`args`], [`device_config`] |
//! | calls to the API server and their limit | [`api`], [`limiter`] |
//! | caches fed by watches, leadership | [`caches`], [`leader`] |
//! | handshakes and node registration | [`register`] |
//! | what a container asks for | [`request`], [`quantity`] |
//! | cards, their annotations, what is reserved | [`cards`], [`pod_devices`], [`accounts`], [`quota`] |
//! | choosing cards and nodes | [`fit`], [`topology`], [`policy`], [`score`] |
//! | the two questions of kube-scheduler | [`filter`], [`bind`], [`node_lock`], [`wire`], [`http`] |
//! | events and metrics | [`correlator`], [`events`], [`metrics`] |

mod accounts;
mod api;
mod args;
mod bind;
mod caches;
#[cfg(test)]
mod call_tests;
mod cards;
mod correlator;
mod device_config;
mod events;
mod filter;
mod fit;
mod http;
mod leader;
mod limiter;
mod metrics;
mod names;
mod node_lock;
mod pod_devices;
mod policy;
mod quantity;
mod quota;
mod register;
mod request;
mod score;
mod server;
#[cfg(test)]
mod testing;
mod topology;
mod wire;

pub use args::Args;
pub use server::run;
