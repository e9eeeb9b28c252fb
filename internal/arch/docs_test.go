// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const root = "../.."

const coverage = "kv/internal/replay/testdata/coverage.md"

// TestPromisesNameTests checks that each test exists that the packages' lists of
// promises and the list of recorded behaviour name: a promise without one is only a wish.
func TestPromisesNameTests(t *testing.T) {
	defined := definedTests(t)
	for _, list := range append(promises(t), coverage) {
		named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(read(t, list), -1)
		if len(named) < 8 {
			t.Errorf("%s names %d tests, want at least 8", list, len(named))
		}
		for _, name := range named {
			if !defined[name[1]] {
				t.Errorf("%s names %s, but no test has that name", list, name[1])
			}
		}
	}
}

// TestGuaranteesAreOnePage checks that docs/guarantees.md stays short enough to be
// read from top to bottom, and links to each package's list of promises.
func TestGuaranteesAreOnePage(t *testing.T) {
	page := read(t, "docs/guarantees.md")
	if n := strings.Count(page, "\n"); n > 150 {
		t.Errorf("docs/guarantees.md has %d lines, want at most 150", n)
	}
	lists := promises(t)
	if len(lists) < 14 {
		t.Errorf("found %d lists of promises: %q", len(lists), lists)
	}
	for _, list := range lists {
		if !strings.Contains(page, "](../"+list+")") {
			t.Errorf("docs/guarantees.md does not link to %s", list)
		}
	}
}

// promises returns the paths of the packages' lists of promises and their tests.
func promises(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(documents(t), func(page string) bool { return filepath.Base(page) != "PROMISES.md" })
}

// TestPagesNamePackages checks that the internal packages that pages name exist:
// packages move, and pages that describe the house must follow.
func TestPagesNamePackages(t *testing.T) {
	named := 0
	for _, page := range documents(t) {
		if page == "CHANGELOG.md" { // it tells what was there
			continue
		}
		for _, found := range regexp.MustCompile("`((?:[a-z0-9]+/)*internal(?:/[a-z0-9]+)+)`").FindAllStringSubmatch(read(t, page), -1) {
			named++
			if _, err := os.Stat(filepath.Join(root, found[1])); err != nil {
				t.Errorf("%s names the package %s: %v", page, found[1], err)
			}
		}
	}
	if named < 100 {
		t.Errorf("the pages name %d internal packages", named)
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

// TestErrorsAreExplained checks that docs/errors.md has every error that package persistable exports.
func TestErrorsAreExplained(t *testing.T) {
	page := read(t, "docs/errors.md")
	listings, err := filepath.Glob(filepath.Join(root, "api", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range listings {
		for _, line := range regexp.MustCompile(`(?m)^pkg persistable, (?:var (Err\w+)|type (\w+Error))\b`).FindAllStringSubmatch(read(t, "api/"+filepath.Base(file)), -1) {
			names = append(names, line[1]+line[2])
		}
	}
	if len(names) < 30 {
		t.Fatalf("the listings of the API have the errors %v", names)
	}
	for _, name := range names {
		if !regexp.MustCompile("`\\*?" + name + "`").MatchString(page) {
			t.Errorf("docs/errors.md does not say what to do with persistable.%s", name)
		}
	}
}

// TestReadmeIsShort keeps the README to what a newcomer reads. What a page does not show, such
// as the addresses of links, does not count.
func TestReadmeIsShort(t *testing.T) {
	hidden := regexp.MustCompile(`\]\([^)]*\)|<!--.*-->`)
	lines := strings.Split(strings.TrimSuffix(read(t, "README.md"), "\n"), "\n")
	if len(lines) > 120 {
		t.Errorf("README.md has %d lines, want at most 120", len(lines))
	}
	for i, line := range lines {
		if n := utf8.RuneCountInString(hidden.ReplaceAllString(line, "]")); n > 120 {
			t.Errorf("README.md:%d: %d characters, want at most 120", i+1, n)
		}
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
