// SPDX-License-Identifier: Apache-2.0

package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contents returns the files of a folder by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if content, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			all[e.Name()] = string(content)
		}
	}
	return all
}

// TestWriteAll: where a content cannot be written at all nothing changes; where a file
// cannot take its place those before it have changed, and no other one. No temporary file
// is left.
func TestWriteAll(t *testing.T) {
	for name, c := range map[string]struct {
		third   string // of the files
		want    map[string]string
		changed int
		fails   bool
	}{
		"all":         {"c", map[string]string{"a": "new\r\n", "b": "same\r\n", "c": "new"}, 3, false},
		"not written": {"missing/c", map[string]string{"a": "old\r\n", "b": "same\r\n", "gone": "x"}, 0, true},
		"no place":    {"folder", map[string]string{"a": "new\r\n", "b": "same\r\n", "gone": "x"}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := func(name string) string { return filepath.Join(dir, name) }
			for name, content := range map[string]string{"a": "old\r\n", "b": "same\r\n", "gone": "x"} {
				if err := os.WriteFile(path(name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(path("folder/full"), 0o700); err != nil {
				t.Fatal(err)
			}
			changed, err := WriteAll([]File{
				{path("a"), []byte("new\n")}, {path("b"), []byte("same\n")}, {path(c.third), []byte("new")}, {path("gone"), nil},
			})
			if (err != nil) != c.fails || len(changed) != c.changed {
				t.Errorf("%d files have changed, and the error is %v", len(changed), err)
			}
			if err != nil && (!strings.Contains(err.Error(), "write "+filepath.Base(c.third)) || strings.Contains(err.Error(), ".persistgen")) {
				t.Errorf("the error does not name the file, or names a temporary one: %v", err)
			}
			for _, f := range changed {
				if on, err := os.ReadFile(f.Path); f.Content != nil && (err != nil || string(on) != string(f.Content)) {
					t.Errorf("%s has %q (%v), and WriteAll says %q", f.Path, on, err, f.Content)
				}
			}
			if diff := cmp.Diff(c.want, contents(t, dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
