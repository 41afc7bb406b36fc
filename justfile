# The project's commands by name. `just --list` shows them.

# Run an experiment: dedicated, shared, workstation, regimes, any name from `headroom list`, or all of them.
bench experiment="regimes" *options:
    cargo run --release -- bench {{experiment}} {{options}}

# Build the pinned components into the cache, and nothing else.
setup:
    cargo run --release -- setup

# Run every test, including the end-to-end tests.
test:
    cargo test --release

# Check formatting, lints and documents (links, values in both languages), as CI does.
lint:
    cargo fmt --check
    cargo clippy --release --all-targets -- -D warnings
    cargo test --release --test documents

# What the harness itself uses in a run at compression 120: CPU, memory, watch lag, late submissions.
bench-self *options:
    cargo run --release -- bench regimes --arm fixed --compress 120 {{options}}

# Draw a session's charts into plots/<session>/. The session is a folder, latest, latest~1, …; by default a recorded example.
plots session="runs/examples/regimes":
    cargo run --release -- plot {{session}} --out plots/{{file_name(session)}}

# Write a session's report as one HTML file; by default that of a recorded example.
report session="runs/examples/regimes":
    cargo run --release -- report {{session}}

# Compare new runs with earlier ones: `just compare latest~1 latest`.
compare *sessions:
    cargo run --release -- compare {{sessions}}

# Run a night's experiments, compare them with earlier nights, and write a report.
nightly *options:
    cargo run --release -- nightly {{options}}
