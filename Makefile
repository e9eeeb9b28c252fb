# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
TOOLS       := CGO_ENABLED=0 GOBIN=$(CURDIR)/bin
FUZZCOUNT   ?= 20000
# Packages whose tests take longest begin first, so that none is alone at the end.
LONGEST     := ./kv/embedded ./persistable ./kv/kvtest/... ./codegen ./lease/sqlite ./cmd/... ./idgen
# Packages whose tests start no goroutine, nor does what they call: the race detector
# has nothing to find there. internal/arch checks the list.
SEQUENTIAL := cmd/persistvet persistvet internal/cli/keytext internal/doctor codegen/internal/diff codegen/internal/emitter codegen/internal/lock codegen/internal/model codegen/internal/tags \
	idbuilder/format idbuilder/idconfig idbuilder/store internal/arch internal/goldens internal/nearest \
	internal/schedule internal/schema internal/seed internal/shape internal/snippets kv/embedded/internal/btree \
	kv/embedded/internal/rangeset kv/kvtest/internal/scenario kv/kvtest/replay persistable/internal/format persistable/wire \
	placement placement/identity placement/internal/recency placement/strategy rafttimer/internal/wheel tuple

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: quickstart
quickstart: ## run the example of the README
	go run ./examples/quickstart

# `make lint` and, for -race, `make check-fdb` vet the same files with all of vet's
# checks. That `go test` vets once more some of them would take a minute of CPU
# for each way of building, most of it for the dependencies.
TEST := go test -vet=off -timeout 20m

.PHONY: test
test: servers ## run every test (needs Go; Redis, PostgreSQL and MariaDB for those of their homes)
	CGO_ENABLED=0 $(TEST) -p 3 $(LONGEST) ./...
	cd bench && CGO_ENABLED=0 $(TEST) ./measure ./chart
	cd examples/raft && CGO_ENABLED=0 $(TEST) ./...
	cd placement/protoactor && CGO_ENABLED=0 $(TEST) ./...

# SQLite is C translated to Go. Its memory is not Go's, so the race detector sees no race
# in it, but makes it four times slower.
RACE := -race -gcflags=modernc.org/...=-race=false

# Under the race detector a program sleeps for a second when it ends, by default:
# too long for tests that run one program after the other.
.PHONY: race
race: export GORACE := atexit_sleep_ms=0
race: servers ## run every test with goroutines under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(TEST) $(RACE) -short -p 3 $$(go list $(LONGEST) ./... | grep -vxF $(SEQUENTIAL:%=-e github.com/kazahana-db/kazahana/%))
	cd examples/raft && CGO_ENABLED=1 $(TEST) $(RACE) -short ./...
	cd placement/protoactor && CGO_ENABLED=1 $(TEST) $(RACE) -short ./...

.PHONY: servers
servers:
	@.ci/servers

# The steps that compile and check, and run no test, seldom collect garbage: the compiler
# takes 16 % less CPU, and staticcheck, which reads the source of every dependency, 40 %.
lint check-fdb: export GOGC := 400
lint check-fdb: export GOMEMLIMIT := 2GiB
STATIC := $(CURDIR)/bin/staticcheck

.PHONY: lint
lint: export CGO_ENABLED := 0
lint: ## vet, staticcheck, persistvet, gofumpt
	go vet ./...
	cd bench && go vet ./...
	cd examples/raft && go vet ./...
	cd placement/protoactor && go vet ./...
	$(TOOLS) go install $(STATICCHECK)
	$(STATIC) ./...
	$(TOOLS) go install ./cmd/persistvet
	$(CURDIR)/bin/persistvet ./...
	cd examples/raft && $(STATIC) ./...
	cd placement/protoactor && $(STATIC) ./...
	@unformatted="$$(go run $(GOFUMPT) -l .)"; test -z "$$unformatted" || { echo "not gofumpt'ed:"; echo "$$unformatted"; exit 1; }

.PHONY: check-fdb
# The compiler finds header and library by CPATH and LIBRARY_PATH, which are not
# part of what Go's build cache goes by, as CGO_CFLAGS and CGO_LDFLAGS would be. With
# -race, as in `make race`, what is compiled here is not compiled again there;
# staticcheck has what it reads compiled, too.
check-fdb: export CGO_ENABLED := 1
check-fdb: export CPATH := $(CURDIR)/internal/fdbheader
check-fdb: export LIBRARY_PATH := $(CURDIR)/bin/check-fdb
check-fdb: ## compile kv/fdbkv and the tests of a cluster without FoundationDB (needs a C compiler)
	@mkdir -p bin/check-fdb && : > bin/check-fdb/none.c && $${CC:-cc} -shared -o bin/check-fdb/libfdb_c.so bin/check-fdb/none.c
	go vet $(RACE) -tags foundationdb ./...
	$(TOOLS) go install $(STATICCHECK)
	GOFLAGS="$$GOFLAGS $(RACE)" $(STATIC) -tags foundationdb ./kv/fdbkv ./internal/enginetest

# Each package's tests, on the cluster of FDB_CLUSTER_FILE, one package after the
# other: moving a directory voids what all programs on the cluster remember of
# theirs, which tests that count transactions see. Those of kv/fdbkv and of the command
# need one that is empty; the others work below prefixes of their own.
FDB_LAYERS := ./tuple ./directory ./index/... ./persistable/... ./leasefdb ./election/... ./idbuilder/store/kvstore ./placement/kvstore ./placement/membership ./examples/... ./internal/bazaar ./internal/cli/dirs ./internal/cli/records ./internal/cli/tenants

.PHONY: test-fdb
test-fdb: test-fdb-engine test-fdb-command test-fdb-layers ## run the tests on the cluster of FDB_CLUSTER_FILE, best a new one

.PHONY: test-fdb-engine
test-fdb-engine: need-cluster ## the engine's own tests, which replace everything in the cluster
	FDB_CLUSTER_FILE="$(abspath $(FDB_CLUSTER_FILE))" CGO_ENABLED=1 go test -count 1 -tags foundationdb -timeout 40m ./kv/fdbkv

.PHONY: test-fdb-command
test-fdb-command: need-cluster ## the scripts of the command, which replace everything in the cluster, too
	FDB_CLUSTER_FILE="$(abspath $(FDB_CLUSTER_FILE))" CGO_ENABLED=1 go test -count 1 -tags foundationdb -timeout 30m -run '^TestScripts$$' ./cmd/kazahana

.PHONY: test-fdb-layers
test-fdb-layers: need-cluster ## the layers' tests, which leave other data in the cluster alone
	FDB_CLUSTER_FILE="$(abspath $(FDB_CLUSTER_FILE))" CGO_ENABLED=1 go test -count 1 -p 1 -tags foundationdb -timeout 30m $(FDB_LAYERS)
	cd placement/protoactor && FDB_CLUSTER_FILE="$(abspath $(FDB_CLUSTER_FILE))" CGO_ENABLED=1 go test -count 1 -tags foundationdb -timeout 30m ./...

.PHONY: need-cluster
need-cluster:
	@test -n "$$FDB_CLUSTER_FILE" || { echo "set FDB_CLUSTER_FILE to the cluster file of a FoundationDB cluster for tests, and install its client (libfdb_c and headers)"; exit 1; }
	@test -r "$$FDB_CLUSTER_FILE" || { echo "FDB_CLUSTER_FILE: cannot read $$FDB_CLUSTER_FILE"; exit 1; }

.PHONY: generate
generate: ## run every go:generate
	go generate ./...

.PHONY: goldens
goldens: ## adopt the recordings beside the clone, and list anew what they prove
	go test ./internal/goldens -run '^TestAdopted$$' -args -adopt
	go generate ./kv/kvtest/replay

.PHONY: current
current: generate ## fail if generated files are not current
	@git diff --exit-code --stat -- . || { echo "generated files are not current: run 'make generate' and commit"; exit 1; }

.PHONY: fuzz
fuzz: ## run every fuzz target on FUZZCOUNT inputs
	@.ci/fuzz $(FUZZCOUNT)

.PHONY: bench
bench: ## measure engine and IDs against their budgets (bench/ is a module of its own)
	cd bench && CGO_ENABLED=0 go run ./cmd/budgets
	cd bench && CGO_ENABLED=0 go run ./cmd/ids
	cd bench && CGO_ENABLED=0 go run ./cmd/placement
	cd bench && CGO_ENABLED=0 go test -run '^$$' -bench . -benchmem -count 7 ./user

.PHONY: site
site: ## render docs as a site into site/dist, and check it (needs Node); SITE_BASE=/path/ if it is served below a path
	cd site && npm ci --no-fund --no-audit --loglevel=error && npm run -s build && npm run -s check
	@echo "to read it: cd site && npm run preview"

.PHONY: counts
counts: ## count methods away from their type, participle types, vague sentences, lengths (V=-v lists them)
	@go run ./internal/shape/cmd/counts $(V)

.PHONY: replay
replay: ## repeat a random test: SEED=42 PKG=./kv/kvtest RUN=TestRandom (a failing test prints all three)
	@test -n "$(SEED)" -a -n "$(PKG)" || { echo "usage: make replay SEED=42 PKG=./kv/kvtest RUN='^TestRandom$$'"; exit 2; }
	cd $(PKG) && KAZAHANA_SEED=$(SEED) go test -count 1 -v -run '$(value RUN)' .

.PHONY: tidy
tidy: ## tidy all modules
	go mod tidy
	cd placement/protoactor && go mod tidy
	cd bench && go mod tidy
	cd examples/raft && go mod tidy
