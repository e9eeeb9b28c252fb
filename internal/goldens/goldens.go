// SPDX-License-Identifier: Apache-2.0

// Package goldens finds, for tests, the traces that were recorded on a real
// FoundationDB and the data sets that tests read. The traces are part of the
// repository, compressed: a fresh clone replays them. The data sets are not.
package goldens

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Dir returns the folder of the recorded traces: the environment variable
// KAZAHANA_GOLDENS, or the repository's own.
func Dir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("KAZAHANA_GOLDENS"); dir != "" {
		return dir
	}
	return filepath.Join(Root(t), "internal", "goldens", "testdata")
}

// DatasetsVariable is the environment variable that names the folder of the
// data sets.
const DatasetsVariable = "KAZAHANA_DATASETS"

// Dataset returns the path of a data set, and whether the machine has it: in
// the folder that [DatasetsVariable] names or, where it is not set, among what
// the machine's clones share. A test must prove its point without it, too. It
// fails the test if the variable is set and the data set is not in its folder.
func Dataset(t testing.TB, name string) (path string, found bool) {
	t.Helper()
	dir := os.Getenv(DatasetsVariable)
	named := dir != ""
	if !named {
		dir = sharedFolder(t, "datasets")
	}
	path = filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		if named {
			t.Fatalf("the environment variable %s names a folder without the data set %s: %v", DatasetsVariable, name, err)
		}
		return "", false
	}
	return path, true
}

// sharedFolder returns a folder among what the machine's clones share, which there
// need not be.
func sharedFolder(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(Root(t), "..", "shared", name)
}

// Root returns the folder of the module: it walks up from the test's folder to the one
// with go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// Trace opens the trace with that name until the test ends.
func Trace(t testing.TB, name string) io.Reader {
	t.Helper()
	paths, err := Glob(Dir(t), name)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close() })
	return trace
}

// The traces are JSON Lines, as they were recorded or compressed.
const (
	plain      = ".jsonl"
	compressed = plain + ".gz"
)

// Glob returns the paths of the traces in dir with names that, without extension,
// match a pattern of [filepath.Match]: at least one.
func Glob(dir, pattern string) ([]string, error) {
	for _, extension := range []string{plain, compressed} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern+extension))
		if err != nil || len(paths) > 0 {
			return paths, err
		}
	}
	return nil, fmt.Errorf("goldens: there is no trace %s in %s", pattern, dir)
}

// Name returns the name of the trace at path, without folder and extension.
func Name(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), plain)
}

// Open opens the trace at path, decompressed.
func Open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil || !strings.HasSuffix(path, compressed) {
		return file, err
	}
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("goldens: %s: %w", path, err), file.Close())
	}
	return trace{unzipped, file}, nil
}

// trace is a compressed trace.
type trace struct {
	*gzip.Reader
	file *os.File
}

// Close closes the file.
func (t trace) Close() error { return errors.Join(t.Reader.Close(), t.file.Close()) }
