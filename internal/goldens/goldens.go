// SPDX-License-Identifier: Apache-2.0

// Package goldens finds, for tests, the traces that were recorded on a real
// FoundationDB and the data sets that tests read. The traces are part of the
// repository, compressed: a fresh clone replays them. The data sets are not.
package goldens

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder of the recorded traces: the environment variable
// KAZAHANA_GOLDENS, or the repository's own.
func Dir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("KAZAHANA_GOLDENS"); dir != "" {
		return dir
	}
	return filepath.Join(root(t), "internal", "goldens", "testdata")
}

// Datasets returns the folder of the data sets: the environment variable
// KAZAHANA_DATASETS, or ../shared/datasets beside the repository. Where it
// does not exist the test is skipped, and in CI it fails.
func Datasets(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("KAZAHANA_DATASETS")
	if dir == "" {
		dir = beside(t, "datasets")
	}
	if _, err := os.Stat(dir); err != nil {
		skip(t, "there are no data sets (%v): set KAZAHANA_DATASETS to their folder", err)
	}
	return dir
}

// skip skips a test that lacks something. In CI, where the environment variable
// CI is set, it fails the test: what CI does not run is not proved.
func skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// beside returns the path of what a machine shares among clones.
func beside(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(root(t), "..", "shared", name)
}

// root walks up from the test's folder to the one with go.mod.
func root(t testing.TB) string {
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
