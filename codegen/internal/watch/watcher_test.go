// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWait: each kind of change alone ends Wait, and is in the next State.
func TestWait(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.MkdirAll(at("tree/a"), 0o700))
	check(t, os.Mkdir(at("folder"), 0o700))
	for _, file := range []string{"tree/a/a.go", "folder/go.mod", "README.md"} {
		check(t, os.WriteFile(at(file), []byte("x"), 0o600))
	}
	scope := Scope{Trees: []string{at("tree")}, Folders: []string{at("folder")}, Files: []string{at("README.md")}}
	w, err := New(0)
	check(t, err)
	defer func() { check(t, w.Close()) }()
	before, err := w.State(scope)
	check(t, err)
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"write in place", func() error { return extend(at("tree/a/a.go")) }},
		{"another file", func() error { return extend(at("README.md")) }},
		{"a new file", func() error { return os.WriteFile(at("folder/b.go"), nil, 0o600) }},
		{"a new folder with a file", func() error { return os.CopyFS(at("tree/b"), os.DirFS(at("tree/a"))) }},
		{"in the new folder", func() error { return extend(at("tree/b/a.go")) }},
		{"a folder is renamed", func() error { return os.Rename(at("tree/b"), at("tree/c")) }},
		{"in the renamed folder", func() error { return extend(at("tree/c/a.go")) }},
		{"a file is removed", func() error { return os.Remove(at("tree/a/a.go")) }},
		{"a folder is removed", func() error { return os.RemoveAll(at("folder")) }},
		{"and comes back", func() error { return os.CopyFS(at("folder"), os.DirFS(at("tree/c"))) }},
	} {
		check(t, step.do())
		check(t, w.Wait(t.Context())) // the test's time limit ends it
		after, err := w.State(scope)
		check(t, err)
		if maps.Equal(before, after) {
			t.Fatalf("%s: the state is the same", step.name)
		}
		before = after
	}
}

// extend writes to a file in place, by one call.
func extend(file string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = f.WriteString("y")
	return err
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWaitAfterAnError checks that a look which failed is repeated without another event.
func TestWaitAfterAnError(t *testing.T) {
	w, err := New(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	file := filepath.Join(t.TempDir(), "no folder")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.State(Scope{Folders: []string{file}}); err == nil {
		t.Fatal("State reads a file as a folder")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.Wait(ctx); err != nil {
		t.Error(err)
	}
}
