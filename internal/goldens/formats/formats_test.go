// SPDX-License-Identifier: Apache-2.0

package formats

import (
	iofs "io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/goldens"
)

// TestAdopt adds two forms of a format. The older one stays, and is read as the newer one is.
func TestAdopt(t *testing.T) {
	folder, read := t.TempDir(), []string{}
	format := func(form string) *Format {
		return &Format{
			Name:  "a/b",
			Write: func(*testing.T) string { return form },
			Read:  func(_ *testing.T, example string) { read = append(read, example) },
		}
	}
	format("one\n").check(t, folder, true)
	format("one\n").check(t, folder, false)
	format("two\n").check(t, folder, true)
	format("two\n").check(t, folder, true) // changes nothing
	read = nil
	format("two\n").check(t, folder, false)
	if got := strings.Join(read, ""); got != "one\ntwo\ntwo\n" {
		t.Errorf("these were read: %q", got)
	}
	for name, want := range map[string]string{"b.1.txt": "one\n", "b.2.txt": "two\n", "b.3.txt": ""} {
		if got, _ := os.ReadFile(filepath.Join(folder, "a", name)); string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// mostBytes is how many bytes all examples have together, at most: each clone has them.
const mostBytes = 200_000

// TestExamples finds the test of each example: without its test, an example is never read.
func TestExamples(t *testing.T) {
	names := map[string]bool{}
	err := filepath.WalkDir(goldens.Root(t), func(path string, d iofs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range regexp.MustCompile(`"([a-z-]+(/[a-z-]+)+)"`).FindAllSubmatch(source, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	size, number := int64(0), regexp.MustCompile(`\.\d+\.txt$`)
	err = filepath.WalkDir("testdata", func(path string, d iofs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		if name := number.ReplaceAllString(filepath.ToSlash(path), ""); !names[strings.TrimPrefix(name, "testdata/")] {
			t.Errorf("no test reads %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > mostBytes {
		t.Errorf("the examples have %d bytes, more than %d", size, mostBytes)
	}
}
