# `make demo` runs the demo, `make test` runs all tests. Both install what they need.

.PHONY: demo test soak bench budget profile pgo release audit plugins set-up schema format package static book faults fuzz fuzz-faults

# The demo runs a built program of this commit if one is at hand (deploy/program.sh). Otherwise one is built, without plugins and
# traces, which the demo does not run, and without what only developers need: about half of the processor time of a whole build. It
# panics as releases do.
demo: export CARGO_INCREMENTAL = 0
demo: export CARGO_PROFILE_DEV_DEBUG = 0
demo: export CARGO_PROFILE_DEV_DEBUG_ASSERTIONS = false
demo: export CARGO_PROFILE_DEV_OVERFLOW_CHECKS = false
demo: export CARGO_PROFILE_DEV_PANIC = abort
demo:
	@program=$$(deploy/program.sh); \
	if [ -n "$$program" ]; then exec "$$program" demo $(ARGS); fi; \
	tests/set_up.sh build && exec cargo run --quiet --locked --package headgate --no-default-features --features simulator \
	    --config profile.dev.package.antlr4rust.opt-level=0 --config profile.dev.package.cel.opt-level=0 -- demo $(ARGS)

test:
	@tests/run.sh

# Mixed load with planted faults for some minutes; fails on growth, and on errors without a cause. See CONTRIBUTING.md.
soak: MINUTES = 10
soak:
	@tests/set_up.sh build soak
	@tests/soak/run.sh $(MINUTES) $(ARGS)

# Plants each fault of tests/faults, and shows that a test fails for it: `ARGS` are names of faults. Takes half an hour.
faults: set-up
	@tests/faults/run.sh $(ARGS)

# Runs fuzz targets under libFuzzer: ARGS="TARGET SECONDS", by default all targets for a minute each. The first build takes
# minutes.
fuzz: set-up
	@fuzz/run.sh $(ARGS)

# Plants each fault of fuzz/faults, and shows that its fuzz target finds it within a minute: `ARGS` are names of faults.
fuzz-faults: set-up
	@fuzz/faults/run.sh $(ARGS)

bench: set-up
	@benches/run.sh $(ARGS)

# Compares instructions per request with the committed budget. The first build takes minutes.
budget:
	@tests/set_up.sh budget
	@benches/budget/run.sh

# Makes a profile of the code that requests use, in target/profile: once for each state of the sources, before `make pgo`.
profile: set-up
	@tests/set_up.sh build profile
	@deploy/pgo.sh profile

# Builds the fastest program, by profile-guided optimization; prints its path.
pgo: set-up
	@deploy/pgo.sh

# Makes archives, checksums, bills of materials and an image, in target/archives.
release: set-up
	@deploy/release.sh

# Checks licences, sources and known vulnerabilities of dependencies.
audit:
	@deploy/audit.sh

# Builds the plugins to plugins/built.
plugins:
	@tests/set_up.sh plugins
	@plugins/build.sh

# Writes the JSON Schema of routes.yaml for editors, and the HTTP API of this repository's; a test fails if a file is out
# of date.
schema:
	cargo run --quiet -- schema > schemas/routes.schema.json
	HEADGATE_TASK_KEY=$$(cargo run --quiet -- key task 2>/dev/null) cargo run --quiet -- schema openapi > schemas/openapi.json

# Makes the Debian package in target/debian.
package:
	cargo build --profile dist --locked
	@deploy/package.sh

# Makes a program without a C library of the system, in target/*-unknown-linux-musl/dist; needs rustup and musl-tools.
static: TARGET = $(shell uname -m)-unknown-linux-musl
static:
	rustup target add $(TARGET)
	cargo build --profile dist --locked --target $(TARGET) --bin headgate

# Writes the book of docs to target/book; needs mdBook.
book:
	mdbook build

# `cargo fmt` does not find the protocols, because a macro declares their modules.
format:
	cargo fmt --all
	rustfmt --edition 2024 $(wildcard crates/protocol/src/protocols/*.rs)

set-up:
	@tests/set_up.sh build
