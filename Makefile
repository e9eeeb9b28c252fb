# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZCOUNT   ?= 20000
# Packages whose tests take longest begin first, so that none is alone at the end.
LONGEST     := ./kv/embedded ./persistable ./kv/kvtest/... ./codegen ./lease/sqlite ./cmd/... ./idgen
# Packages whose tests start no goroutine, nor does what they call: the race detector
# has nothing to find there. internal/arch checks the list.
SEQUENTIAL := cmd/persistvet persistvet cmd/kazahana/internal/doctor codegen/internal/emitter codegen/internal/lock codegen/internal/model codegen/internal/tags \
	idbuilder/format internal/idbuilder/idconfig idbuilder/store internal/arch internal/goldens internal/nearest \
	internal/schedule internal/schema internal/seed internal/shape internal/snippets kv/embedded/internal/btree \
	kv/embedded/internal/keys kv/internal/scenario kv/internal/replay internal/persistable/format internal/wire \
	placement internal/placement/core internal/placement/recency rafttimer/internal/wheel tuple

# The longest tests that start no goroutine of their own, and those that count memory, which the
# race detector changes: others of their packages show it the same code, with goroutines.
# internal/arch checks the list.
SEQUENTIAL_TESTS := LargestBlocks PutMoreThanATransactionHolds IndexesAgainstAMap FindRandom FindRandomSales ScatteredAsPlain RanksModel IndexScatteredOverData \
	Generations BuildOfManyUniqueEntries KindsByProgramsOfDifferentAge KindsAgainstAMap IndexAddedOverData BatchModel CrashesOfUpgrade TwoFillOneFolder \
	ClearedRunIsPassedOnce QueueCostsAreEven RandomDamage TornTail DamageAfterCrash MoreThanOneBatch WindowBytes Interrupted Answers RemoveCountry \
	BadDatasets MoveToAnotherDatabase ExportAndImport ImportContinues ExportContinues LockOfDirectories KindsOfIndexes \
	FirstTouchAllocates MemoryIsBounded

empty :=
space := $(empty) $(empty)

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: quickstart
quickstart: ## run the example of the README
	go run ./examples/quickstart

# Every module in the clone. As one workspace they compile what they share once, and with the same
# versions; -trimpath lets clones in other folders use it, too.
WORKSPACE := $(CURDIR)/.ci/go.work
ALL       := ./... ./bench/... ./examples/raft/... ./placement/protoactor/...
test race lint soak: export GOWORK := $(WORKSPACE)
test race lint soak: export GOFLAGS += -trimpath

# Random tests draw from one seed, so that what passed once passes again: SEED=7 sets another, make soak draws fresh ones.
SEEDED := KAZAHANA_SEED=$(or $(SEED),1) RAPID_SEED=$(or $(SEED),1)

# `make lint` vets every file with all of vet's checks. That `go test` vets once more some of
# them would take a minute of CPU for each way of building, most of it for the dependencies.
# Most tests wait more than they compute, for timers and for the disk: three packages at a time left a quarter of two cores idle.
TEST := $(SEEDED) go test -vet=off -timeout 30m -p 5
TESTED := $(LONGEST) ./... ./bench/measure ./bench/chart ./examples/raft/... ./placement/protoactor/...

.PHONY: test
test: servers ## run every test (needs Go; Redis, PostgreSQL and MariaDB for those of their homes)
	CGO_ENABLED=0 $(TEST) $(TESTED)

# SQLite is C translated to Go. Its memory is not Go's, so the race detector sees no race
# in it, but makes it four times slower.
RACE := -race -gcflags=modernc.org/...=-race=false

# Under the race detector a program sleeps for a second when it ends, by default:
# too long for tests that run one program after the other.
.PHONY: race
race: export GORACE := atexit_sleep_ms=0
race: export CGO_ENABLED := 1
race: servers ## run every test with goroutines under the race detector (needs a C compiler)
	$(TEST) -p 3 $(RACE) -short -skip '^Test($(subst $(space),|,$(strip $(SEQUENTIAL_TESTS))))$$' $$(go list $(TESTED) | grep -vxF $(SEQUENTIAL:%=-e github.com/kazahana-db/kazahana/%))

.PHONY: soak
soak: servers ## run random tests and fuzz targets with fresh seeds at low priority, for MINUTES (60); see rolling
	@PREVIOUS="$(PREVIOUS)" CGO_ENABLED=0 nice -n 19 .ci/soak $(or $(MINUTES),60)

.PHONY: rolling
rolling: servers ## run programs of the version PREVIOUS (a commit or tag) and of this one together, for MINUTES (10)
	@nice -n 19 .ci/rolling $(or $(MINUTES),10) "$(PREVIOUS)"

.PHONY: servers
servers:
	@.ci/servers

# Lint compiles with the tag foundationdb, cgo and the race detector, as `make race` does: what is compiled
# for one serves the other. The compiler finds header and library of FoundationDB by CPATH and LIBRARY_PATH, which
# are not part of what Go's build cache goes by, as CGO_CFLAGS and CGO_LDFLAGS would be.
# The compiler, and staticcheck, which reads the source of every dependency, take 16 to 40 % less CPU
# if they seldom collect garbage.
lint: export GOGC := 400
lint: export GOMEMLIMIT := 2GiB
lint: export CGO_ENABLED := 1
lint: export CPATH := $(CURDIR)/internal/fdbheader
lint: export LIBRARY_PATH := $(CURDIR)/bin/lint
BIN := $(CURDIR)/bin
# The packages with files that lint's first pass leaves out.
UNTAGGED := $$(git grep -lE '^//go:build !(race|\(?foundationdb)' -- '*.go' | sed 's|/[^/]*$$||; s|^|./|' | sort -u)

.PHONY: lint
lint: ## vet, staticcheck, persistvet and gofumpt, with and without FoundationDB (needs a C compiler)
	@mkdir -p $(BIN)/lint && : > $(BIN)/lint/none.c && $${CC:-cc} -shared -o $(BIN)/lint/libfdb_c.so $(BIN)/lint/none.c
	GOWORK=off CGO_ENABLED=0 GOBIN=$(BIN) go install $(STATICCHECK)
	GOWORK=off CGO_ENABLED=0 GOBIN=$(BIN) go install $(GOFUMPT)
	CGO_ENABLED=0 GOBIN=$(BIN) go install ./cmd/persistvet
	@unformatted="$$($(BIN)/gofumpt -l .)"; test -z "$$unformatted" || { echo "not gofumpt'ed:"; echo "$$unformatted"; exit 1; }
	go vet $(RACE) -tags foundationdb $(ALL)
	GOFLAGS="$$GOFLAGS $(RACE)" $(BIN)/staticcheck -tags foundationdb $(filter-out ./bench/...,$(ALL))
	GOFLAGS="$$GOFLAGS $(RACE)" $(BIN)/persistvet -tags foundationdb ./...
	CGO_ENABLED=0 go vet $(UNTAGGED)
	CGO_ENABLED=0 $(BIN)/staticcheck $(UNTAGGED)

.PHONY: api
api: ## list the exported API anew in api/next.txt
	go generate ./internal/api

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what the published modules call (asks vuln.go.dev)
	@mkdir -p $(BIN)
	GOWORK=off CGO_ENABLED=0 GOBIN=$(BIN) go install $(GOVULNCHECK)
	GOWORK=off CGO_ENABLED=0 $(BIN)/govulncheck ./...
	cd placement/protoactor && GOWORK=off CGO_ENABLED=0 $(BIN)/govulncheck ./...

.PHONY: deploy-check
deploy-check: ## check the files of deploy/ with systemd's, Prometheus' and Kubernetes' own tools
	@.ci/deploy

.PHONY: release-check
release-check: ## build and check what a release of HEAD would be, as VERSION or as CHANGELOG.md says, and throw it away
	@.ci/release check $(VERSION)

.PHONY: release
release: ## the same for VERSION, a tag of HEAD, with archives, checksums and notes in bin/release
	@.ci/release build $(or $(VERSION),$(error usage: make release VERSION=v1.2.3))

# Tests on FoundationDB: on the cluster of FDB_CLUSTER_FILE or, without it, each of these targets on one of its own, which .ci/cluster
# starts and removes. On a cluster they run one after the other, and one package at a time:
# moving a directory voids what all programs on the cluster remember of
# theirs, which tests that count transactions see. Those of kv/fdbkv and of the command
# need a cluster that is empty; the others work below prefixes of their own.
ifneq ($(FDB_CLUSTER_FILE),)
override FDB_CLUSTER_FILE := $(abspath $(FDB_CLUSTER_FILE))
export FDB_CLUSTER_FILE
endif
ON_FDB     := test-fdb-engine test-fdb-command test-fdb-records test-fdb-layers
FDB_LAYERS := ./internal/fdbchaos ./tuple ./directory ./internal/index ./leasefdb ./election/... ./idbuilder/store/kvstore ./internal/placement/kvstore \
	./placement/membership ./examples/... ./internal/bazaar ./cmd/kazahana/internal/cli ./internal/cluster ./placement/protoactor/...
# Tests on a cluster wait for it most of the time. The longest draw fewer programs than on the embedded engine; soak-fdb draws many.
TEST_FDB   := .ci/cluster go test -vet=off -short -count 1 -p 1 -parallel 8 -tags foundationdb -timeout 30m
test-fdb test-fdb-chief soak-fdb $(ON_FDB): export GOWORK := $(WORKSPACE)
test-fdb test-fdb-chief soak-fdb $(ON_FDB): export GOFLAGS += -trimpath
test-fdb test-fdb-chief soak-fdb $(ON_FDB): export CGO_ENABLED := 1

.PHONY: foundationdb
foundationdb: ## install FoundationDB's server, fdbcli and client from its container image (needs docker)
	@.ci/foundationdb

.PHONY: test-fdb
test-fdb: ## run the tests on FoundationDB clusters of their own, or on that of FDB_CLUSTER_FILE, best a new one
	@$(MAKE) --no-print-directory $(if $(FDB_CLUSTER_FILE),-j1,-j$(shell nproc) --output-sync=target) $(ON_FDB)

.PHONY: test-fdb-engine
test-fdb-engine: ## the engine's own tests, which replace everything in the cluster
	$(TEST_FDB) ./kv/fdbkv

.PHONY: test-fdb-command
test-fdb-command: ## the scripts of the command, which replace everything in the cluster, too
	$(TEST_FDB) -run '^(TestScripts|TestDocumented)$$' ./cmd/kazahana

.PHONY: test-fdb-records
test-fdb-records: ## the tests of records, which leave other data in the cluster alone
	$(TEST_FDB) ./persistable/...

.PHONY: test-fdb-layers
test-fdb-layers: ## the tests of other layers, which leave other data in the cluster alone, too
	$(TEST_FDB) $(FDB_LAYERS)

.PHONY: test-fdb-chief
test-fdb-chief: ## two minutes on a cluster: the engine's contract, records, directories and leases
	$(TEST_FDB) -run '^(TestConformance|TestOptions|TestDifferential|TestQueryOrders|TestUnique.*|TestConcurrent.*|TestMoveDirectory|TestEpochsOnlyGrow|TestHolder|TestTakeover|TestUnder|TestProvidersOfOneDatabase|TestLostReply)$$' ./kv/fdbkv ./persistable ./directory ./leasefdb

.PHONY: soak-fdb
soak-fdb: ## faults of clusters under load, random programs and the binding tester with fresh seeds, for MINUTES (60), on FoundationDB
	@nice -n 19 .ci/soak-fdb $(or $(MINUTES),60)

.PHONY: generate
generate: ## run every go:generate
	go generate ./...

.PHONY: goldens
goldens: ## adopt the recordings beside the clone, and list anew what they prove
	go test ./internal/goldens -run '^TestAdopted$$' -args -adopt
	go generate ./kv/internal/replay

.PHONY: current
current: generate ## fail if generated files are not current
	@git diff --exit-code --stat -- . || { echo "generated files are not current: run 'make generate' and commit"; exit 1; }

.PHONY: fuzz
fuzz: ## run every fuzz target on FUZZCOUNT inputs
	@.ci/fuzz $(FUZZCOUNT)

.PHONY: bench
bench: BENCHMARKS := $(if $(WRITE),-write ../docs/benchmarks.md)
bench: PARTS = -rounds $(ROUNDS) $(if $(WRITE),-write ../docs/benchmarks-parts.md)
bench: ROUNDS := 3
bench: ## measure engine, records and IDs against their budgets; WRITE=1 puts the tables into docs (bench/ is a module of its own)
	cd bench && CGO_ENABLED=0 go run ./cmd/budgets -rounds $(ROUNDS) $(BENCHMARKS)
	cd bench && CGO_ENABLED=0 go run ./cmd/budgets -footprint $(BENCHMARKS)
	cd bench && if [ "$$(CGO_ENABLED= go env CGO_ENABLED)" = 1 ]; then \
		CGO_ENABLED=1 go run ./cmd/budgets -footprint -run '^load$$/(Kazahana|in C|nothing)' -section load-c $(BENCHMARKS); fi
	cd bench && CGO_ENABLED=0 go run ./cmd/growth -most 1000000 -rounds $(ROUNDS) $(if $(WRITE),-svg ../docs/growth.svg) $(BENCHMARKS)
	cd bench && CGO_ENABLED=0 go run ./cmd/ids $(PARTS)
	cd bench && CGO_ENABLED=0 go run ./cmd/placement $(PARTS)

.PHONY: site
site: servers ## render docs as a site into site/dist, and check it (needs Node); SITE_BASE=/path/ if it is served below a path
	cd site && npm ci --no-fund --no-audit --loglevel=error && npm run -s build && npm run -s check
	@echo "to read it: cd site && npm run preview"

.PHONY: counts
counts: ## count what makes code hard to read or to keep, each with its bound (V=-v lists findings)
	@go run ./internal/shape/cmd/counts $(V)

.PHONY: replay
replay: ## repeat a random test: SEED=42 PKG=./kv/kvtest RUN=TestRandom, FDB=1 on a cluster (a failing test prints all)
	@test -n "$(SEED)" -a -n "$(PKG)" || { echo "usage: make replay SEED=42 PKG=./kv/kvtest RUN='^TestRandom$$'"; exit 2; }
	cd $(PKG) && $(SEEDED) KAZAHANA_RUNS=1 $(if $(FDB),CGO_ENABLED=1 $(CURDIR)/.ci/cluster go test -tags foundationdb,go test) -count 1 -v -run '$(value RUN)' .

.PHONY: tidy
tidy: ## tidy all modules
	go mod tidy
	cd placement/protoactor && go mod tidy
	cd bench && go mod tidy
	cd examples/raft && go mod tidy
