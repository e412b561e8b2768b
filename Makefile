# `make demo` shows the library at work, `make test` is what CI runs.
GO ?= go

.PHONY: demo test check build unit noop cross bench fuzz e2e

demo: ## train a real model and show what was recorded; needs no collector
	@dir="$$(mktemp -d)" && \
	NEMO_LENS_ENABLED=1 NEMO_LENS_SPAN_GROUPS=per_step NEMO_LENS_EXPORTER=file NEMO_LENS_EXPORTER_FILE="$$dir/spans.jsonl" $(GO) run ./examples/training && \
	echo && $(GO) run ./cmd/nemo-lens view --lines 25 "$$dir/spans.jsonl" && \
	echo && echo "the timeline in a browser: $(GO) run ./cmd/nemo-lens view --html $$dir/run.html $$dir/spans.jsonl" && \
	echo "the raw spans:             $(GO) run ./cmd/nemo-lens view --show spans --lines 0 $$dir/spans.jsonl"

test: check build unit noop cross

check:
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; \
	if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

build:
	$(GO) build ./...
	$(GO) build -tags lens_noop ./...

unit:
	$(GO) test -race -shuffle=on -vet=off -timeout 8m ./... # check has vetted
	$(GO) test -vet=off -run Allocat . ./instruments ./lenshttp ./lenslog ./gym # what -race would count wrongly

noop:
	$(GO) vet -tags lens_noop ./...
	$(GO) test -vet=off -tags lens_noop . ./lenshttp ./lenslog ./lenstest ./instruments/... ./semconv ./gym/... ./examples/...

cross:
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

bench:
	$(GO) test -run '^$$' -bench . -benchmem . ./internal/frozen ./internal/batch ./internal/openspans \
		./instruments ./lenshttp ./lenslog ./gym/...

fuzz:
	$(GO) test -run '^$$' -fuzz FuzzSpec -fuzztime 20s .
	$(GO) test -run '^$$' -fuzz FuzzEnviron -fuzztime 20s .
	$(GO) test -run '^$$' -fuzz FuzzSet -fuzztime 20s ./internal/frozen
	$(GO) test -run '^$$' -fuzz FuzzIDs -fuzztime 20s ./internal/otlpfile
	$(GO) test -run '^$$' -fuzz FuzzScanner -fuzztime 20s ./cmd/nemo-lens/internal/jsonscan
	$(GO) test -run '^$$' -fuzz FuzzReader -fuzztime 20s ./cmd/nemo-lens/internal/trace

e2e: ## spans through a real OpenTelemetry Collector, built from its modules
	cd internal/e2e && $(GO) test ./...
