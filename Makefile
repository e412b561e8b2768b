# `make demo` shows the library at work, `make test` is what CI runs.
GO ?= go

.PHONY: demo test check build unit modules noop cross flaky bench bench-full bench-docs bench-test bench-go fuzz e2e

# Without it a process with the race detector sleeps for a second before it exits, and
# so does each child process of a test.
export GORACE ?= atexit_sleep_ms=0

demo: ## train a real model and show what was recorded; needs no collector
	@dir="$$(mktemp -d)" && \
	NEMO_LENS_ENABLED=1 NEMO_LENS_SPAN_GROUPS=per_step NEMO_LENS_EXPORTER=file NEMO_LENS_EXPORTER_FILE="$$dir/spans.jsonl" $(GO) run ./examples/training && \
	echo && $(GO) run ./cmd/nemo-lens view --lines 25 "$$dir/spans.jsonl" && \
	echo && echo "the timeline in a browser: $(GO) run ./cmd/nemo-lens view --html $$dir/run.html $$dir/spans.jsonl" && \
	echo "the raw spans:             $(GO) run ./cmd/nemo-lens view --show spans --lines 0 $$dir/spans.jsonl"

# The development tools have their versions in the go.mod of lensvet, so that
# they are no requirements of the library.
STATICCHECK = $(GO) tool -modfile=$(CURDIR)/cmd/lensvet/go.mod staticcheck

test: check build unit modules noop cross

check:
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; \
	if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(STATICCHECK) ./...

build:
	$(GO) build ./...
	$(GO) build -tags lens_noop ./...

unit:
	$(GO) test -race -shuffle=on -vet=off -timeout 8m ./... # check has vetted
	$(GO) test -vet=off -run 'Allocat|Ratio|Memory' . ./instruments ./internal/record ./lenshttp ./lenslog ./gym # what -race would count or time wrongly

modules: ## the modules inside the repository; e2e has a target of its own
	cd cmd/lensvet && $(GO) vet ./... && $(GO) test -vet=off ./... && $(GO) tool staticcheck ./...
	cd bench && $(GO) vet ./...
	cd internal/e2e && $(GO) vet ./...

noop:
	$(GO) vet -tags lens_noop ./...
	$(GO) test -vet=off -tags lens_noop . ./lenshttp ./lenslog ./lenstest ./instruments/... ./resattr ./semconv ./gym/... ./examples/...

CORE = . ./internal/record/errtype ./internal/gate ./internal/pipeline/globals ./internal/export/guard ./internal/pipeline/logpipe ./internal/pipeline/metricpipe \
	./internal/settings ./internal/export/otlp ./internal/pipeline ./internal/queue ./internal/record ./internal/identity/rankenv ./internal/identity/strategy ./instruments ./lenshttp ./lenslog

cross:
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	@for arch in 386 arm arm64; do echo GOARCH=$$arch; CGO_ENABLED=0 GOARCH=$$arch $(GO) vet ./... || exit 1; done
	@if [ "$$($(GO) env GOHOSTOS GOHOSTARCH | tr '\n' ' ' | tr -d ' ')" = linuxamd64 ]; then \
		CGO_ENABLED=0 GOARCH=386 $(GO) test -vet=off $(CORE); fi # such a kernel runs 386 too

ROUNDS ?= 5
PACKAGES ?= ./...

flaky: ## the suite ROUNDS times in other orders: as it is, on one processor, and beside a load; names what failed
	@log=$$(mktemp) && trap 'rm -f $$log; kill $$load 2>/dev/null' EXIT; \
	round() { echo "round $$1: $$2"; shift 2; "$$@" $(GO) test -race -shuffle=on -count=1 -vet=off -timeout 30m $(PACKAGES) >>$$log 2>&1; }; \
	for i in $$(seq $(ROUNDS)); do \
		round $$i "as it is" env; \
		round $$i "on one processor" env GOMAXPROCS=1; \
		load=; for _ in 1 2 3 4; do while :; do :; done & load="$$load $$!"; done; \
		round $$i "beside four busy processes" env; \
		kill $$load; load=; \
	done; \
	if grep -E '^(--- FAIL|FAIL|panic:|WARNING: DATA RACE|-test.shuffle)|^ +--- FAIL' $$log | grep -B1 -E 'FAIL|panic|RACE'; then cp $$log flaky.log; echo "the whole output is in flaky.log"; exit 1; fi; \
	echo "nothing failed in $(ROUNDS) rounds of three"

# The benchmarks are a module of their own. A competitor that cannot be fetched is
# left out, and the tables say so.
BENCH = cd bench && tags=none; \
	for c in datadog:github.com/DataDog/dd-trace-go/v2/ddtrace/tracer sentry:github.com/getsentry/sentry-go zap:go.uber.org/zap; do \
		$(GO) build $${c\#*:} || tags=$$tags,without_$${c%%:*}; done; \
	$(GO) run -tags $$tags .

bench: ## lens beside other tracers, one table of ratios at the end; under five minutes
	$(BENCH) -rounds 9

bench-full: ## every table
	$(BENCH) -full

bench-docs: ## the tables and the plot of docs/performance.md, measured anew
	$(BENCH) -md ../docs/performance.md -plot ../docs/memory.svg

bench-test: ## every scenario of the benchmarks, with one round of next to nothing
	cd bench && $(GO) vet . && $(GO) vet -tags without_datadog,without_sentry,without_zap . && $(GO) test .

bench-go: ## the benchmarks beside the code
	$(GO) test -run '^$$' -bench . -benchmem . ./internal/gate ./internal/queue ./internal/record \
		./instruments ./lenshttp ./lenslog ./gym/...

fuzz:
	$(GO) test -run '^$$' -fuzz FuzzSpec -fuzztime 20s .
	$(GO) test -run '^$$' -fuzz FuzzEnviron -fuzztime 20s .
	$(GO) test -run '^$$' -fuzz FuzzSet -fuzztime 20s ./internal/gate
	$(GO) test -run '^$$' -fuzz FuzzIDs -fuzztime 20s ./internal/export/otlpfile
	$(GO) test -run '^$$' -fuzz FuzzScanner -fuzztime 20s ./cmd/nemo-lens/internal/jsonscan
	$(GO) test -run '^$$' -fuzz FuzzReader -fuzztime 20s ./cmd/nemo-lens/internal/trace

e2e: ## spans through a real OpenTelemetry Collector, built from its modules
	cd internal/e2e && $(GO) test ./...
