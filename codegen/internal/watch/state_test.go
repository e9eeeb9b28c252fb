// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWith writes files, and compares what With expects of them with the state that is
// read afterwards: a difference would be taken for a change, and end each wait at once.
func TestWith(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	w, err := New(1)
	if err != nil {
		t.Fatal(err)
	}
	scope := Scope{Folders: []string{dir}, Files: []string{at("README.md")}}
	if err := os.WriteFile(at("old_persist.go"), []byte("package old"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := w.State(scope)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string][]byte{
		at("shop_persist.go"): []byte("package shop"), at("persist.lock"): []byte("format 1"),
		at("shop.proto"): []byte("syntax"), at("README.md"): []byte("# Shop"), at("old_persist.go"): nil,
	}
	for path, content := range written {
		if content == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	now, err := w.State(scope)
	if err != nil {
		t.Fatal(err)
	}
	if left := before.With(written, scope); !maps.Equal(left, now) {
		t.Errorf("With expects %d files, %d are there:\n%v\n%v", len(left), len(now), left, now)
	}
}

// TestIrregularFiles: a source file that is not a regular file is not read. It is a part of the
// state, and Blocked names it until it is gone.
func TestIrregularFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := New(1)
	check(t, err)
	socket, err := net.Listen("unix", "x.go")
	check(t, err)
	scope := Scope{Trees: []string{"."}}
	with, err := w.State(scope)
	check(t, err)
	if blocked := w.Blocked(); len(with) != 1 || blocked == nil || !strings.HasPrefix(blocked.Error(), "x.go: it is not a regular file") {
		t.Errorf("%d files, %v", len(with), blocked)
	}
	check(t, socket.Close()) // which removes it
	check(t, os.Mkdir("y.go", 0o700))
	without, err := w.State(scope)
	check(t, err)
	if blocked := w.Blocked(); len(without) != 0 || blocked != nil {
		t.Errorf("%d files, %v", len(without), blocked)
	}
}
