// SPDX-License-Identifier: Apache-2.0

// Package formats checks, for tests, the formats of what outlives the program that wrote it:
// files, keys and values, tokens. testdata has an example of each form in which a version of
// this library wrote a format, as text:
//
//	formats.Check(t, formats.Format{
//		Name:  "embedded/notes",
//		Write: func(t *testing.T) string { … },       // what this version writes
//		Read:  func(t *testing.T, example string) { … }, // reads it, and checks the content
//	})
//
// The examples of a format are testdata/NAME.1.txt, NAME.2.txt and so on. Every version
// must read all of them and get exactly the same content. From the same inputs it must
// write the newest. So a change of a number, a checksum or a prefix fails a test, even if it
// changes what writes and what reads at once.
//
// A version that is to write another form changes docs/layout.md, and adds its form:
//
//	go test ./kv/embedded -run '^TestFormats$' -args -adopt
//
// That never changes an example that is there: programs have written data like it.
package formats

import (
	"errors"
	"flag"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/goldens"
)

var adopt = flag.Bool("adopt", false, "add to the examples of formats the form that this version writes; those that are there stay as they are")

// Adopting reports whether examples are to be added, for a test that has them in files of
// their own.
func Adopting() bool { return *adopt }

// Format is one format. Its examples are text.
type Format struct {
	Name string // of the examples, with slashes

	// Write returns what this version writes for inputs that never change.
	Write func(t *testing.T) string
	// Mask returns an example without what differs from run to run, such as random bytes;
	// nil: nothing does.
	Mask func(t *testing.T, example string) string
	// Read fails the test unless an example, of whatever version, has the content that
	// Write was given.
	Read func(t *testing.T, example string)
}

// Check checks formats, each in a test of its own.
func Check(t *testing.T, all ...Format) {
	t.Helper()
	folder := filepath.Join(goldens.Root(t), "internal", "goldens", "formats", "testdata")
	for _, f := range all {
		t.Run(f.Name, func(t *testing.T) { f.check(t, folder, *adopt) })
	}
}

func (f *Format) check(t *testing.T, folder string, adopt bool) {
	path := func(n int) string {
		return filepath.Join(folder, fmt.Sprintf("%s.%d.txt", filepath.FromSlash(f.Name), n))
	}
	n, newest := 0, ""
	for ; ; n++ {
		example, err := os.ReadFile(path(n + 1))
		if errors.Is(err, iofs.ErrNotExist) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		newest = string(example)
		t.Run(fmt.Sprint("example ", n+1), func(t *testing.T) { f.Read(t, newest) })
	}
	written := f.Write(t)
	t.Run("written now", func(t *testing.T) { f.Read(t, written) })
	diff := "there is no example"
	if n > 0 {
		diff = cmp.Diff(strings.Split(f.masked(t, newest), "\n"), strings.Split(f.masked(t, written), "\n"))
	}
	switch {
	case diff == "":
	case adopt && !t.Failed():
		add(t, path(n+1), written)
	default:
		t.Errorf("what this version writes is not the newest example, %s:\n%s\nOlder programs, and data that exists, have the form of the example. "+
			"If the change is intended, docs/layout.md says what it is and what older programs do with it; then add the new form with -args -adopt", path(n), diff)
	}
}

func (f *Format) masked(t *testing.T, example string) string {
	t.Helper()
	if f.Mask == nil {
		return example
	}
	return f.Mask(t, example)
}

// add writes an example. It never replaces one.
func add(t *testing.T, path, example string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = file.WriteString(example); err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("added %s", path)
}
