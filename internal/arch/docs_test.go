// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestGuaranteesNameTests checks that each test that docs/guarantees.md and
// the list of recorded behaviour name exists: a promise without one is only a wish.
func TestGuaranteesNameTests(t *testing.T) {
	text := read(t, "docs/guarantees.md") + read(t, "kv/internal/replay/testdata/coverage.md")
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1)
	if len(named) < 30 {
		t.Fatalf("the documents name %d tests", len(named))
	}
	defined := definedTests(t)
	for _, name := range named {
		if !defined[name[1]] {
			t.Errorf("docs/guarantees.md or kv/internal/replay/testdata/coverage.md names %s, which is no test", name[1])
		}
	}
}

// definedTests returns the names of all test functions of the repository.
func definedTests(t *testing.T) map[string]bool {
	t.Helper()
	defined := map[string]bool{}
	pattern := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range pattern.FindAllSubmatch(source, -1) {
			defined[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return defined
}

// TestDependenciesAreExplained checks that docs/dependencies.md has each module
// that go.mod asks for directly: what one costs is weighed before it is taken.
func TestDependenciesAreExplained(t *testing.T) {
	direct, _, _ := strings.Cut(read(t, "go.mod"), ")")
	page := read(t, "docs/dependencies.md")
	modules := regexp.MustCompile(`(?m)^\t(\S+) v`).FindAllStringSubmatch(direct, -1)
	if len(modules) < 10 {
		t.Fatalf("go.mod asks for %d modules", len(modules))
	}
	for _, module := range modules {
		_, path, _ := strings.Cut(module[1], "/")
		if !regexp.MustCompile("`([^ `]+/)?" + regexp.QuoteMeta(path) + "`").MatchString(page) {
			t.Errorf("docs/dependencies.md does not say what %s is for", module[1])
		}
	}
}

// TestReadmeIsShort keeps the README to what a newcomer reads.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, want at most 120", n)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
