// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// skips lists the files with tests that may skip themselves, and why no proof is
// lost by it when CI runs `make test` and `make race`.
var skips = map[string]string{
	"election/cluster_test.go":                       "the part of TestProcesses that other processes run",
	"examples/chinook/stores_test.go":                "TestKnownFacts, where the data set, which is not part of the repository, is missing: the other tests of the package run on a store that they make",
	"cmd/idbuilder/internal/console/browser_test.go": "only with -short: make test runs it",
	"internal/browsertest/page.go":                   "in CI it fails instead",
	"persistable/studio/browser_test.go":             "only with -short: make test runs it",
	"persistable/studio/health_test.go":              "only with -short: make test runs it",
	"persistable/studio/pulse_test.go":               "only with -short: make test runs it",
	"persistable/studio/stores_test.go":              "only with -short: make test runs it",
	"persistable/studio/tenants_test.go":             "only with -short: make test runs it",
	"internal/idbuilder/snowflake/store_test.go":     "only with -short: make test runs it",
	"idgen/collision_test.go":                        "only with -short: make test runs it",
	"idgen/sim_test.go":                              "only with -short: make test runs it",
	"internal/idchaos/chaos_test.go":                 "only with -short: make test runs it",
	"internal/servers/server.go":                     "in CI it fails instead",
	"internal/servers/servers_test.go":               "in CI it fails instead",
	"kv/internal/difftest/difftest_test.go":          "only with -short: make test runs it",
	"kv/embedded/range_test.go":                      "only with -short: make test runs it",
	"kv/embedded/restore_test.go":                    "only on Windows",
	"kv/embedded/disk_test.go":                       "only where the system does not tell which files are open; Linux does",
	"kv/range_test.go":                               "a value drawn by rapid that says nothing, not a test",
	"lease/leasetest/requests.go":                    "only for stores that one process has for itself",
	"lease/model_test.go":                            "a step drawn by rapid that is not possible, not a test",
	"lease/sqlite/private_test.go":                   "only on Windows",
	"lease/sqlite/sqlite_test.go":                    "only on Windows",
	"kv/fdbkv/tls_test.go":                           "the part of TestTLS that other processes run",
	"leasefdb/cluster_test.go":                       "the part of TestProcesses that other processes run",
	"persistable/build_kill_test.go":                 "the parts of TestBuildAfterKill and TestProcessesBuildTogether that other processes run",
	"persistable/processes_test.go":                  "the part of TestUniqueAcrossProcesses that other processes run",
	"persistable/scatter_test.go":                    "only with -short, and within the run that it starts: make test runs it",
	"internal/placement/sim/cluster_test.go":         "only with -short: make test runs it",
	"internal/placement/sim/sim_test.go":             "only with -short: make test runs it",
	"internal/placement/kvstore/cluster_test.go":     "the part of TestProcesses that other processes run",
	"site/browser_test.go":                           "only with -short, or without a site: in CI it fails instead",
	"tuple/fuzz_test.go":                             "an input of the fuzzer that says nothing, not a test",
}

// TestSkips finds every test that can skip itself: a skipped test is a
// proof that goes missing unnoticed. One that lacks something of its
// surroundings must fail in CI (the environment variable CI), as those of
// lease/redis do.
func TestSkips(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if callsSkip(parsed) {
			found[filepath.ToSlash(strings.TrimPrefix(file, "../../"))] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file := range found {
		if skips[file] == "" {
			t.Errorf("%s skips a test: let it run or fail in CI, or say in this table why no proof is lost", file)
		}
	}
	for file := range skips {
		if !found[file] {
			t.Errorf("%s skips nothing any more: take it off this table", file)
		}
	}
}

// callsSkip reports whether a file calls a method that skips a test: its name
// is one that tests give to theirs.
func callsSkip(file *ast.File) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		if method, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) {
			test, named := method.X.(*ast.Ident)
			found = found || named && slices.Contains([]string{"t", "tb", "b", "c", "f"}, test.Name)
		}
		return !found
	})
	return found
}
