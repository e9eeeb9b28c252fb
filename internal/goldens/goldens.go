// SPDX-License-Identifier: Apache-2.0

// Package goldens finds, for tests, the traces that were recorded on a real
// FoundationDB and the data sets that tests read. They are not part of the
// repository.
package goldens

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder of the recorded traces: the environment variable
// KAZAHANA_GOLDENS, or ../shared/fdb-goldens beside the repository. Where it
// does not exist the test is skipped.
func Dir(t testing.TB) string {
	return find(t, "KAZAHANA_GOLDENS", "fdb-goldens")
}

// Datasets returns the folder of the data sets: the environment variable
// KAZAHANA_DATASETS, or ../shared/datasets beside the repository. Where it
// does not exist the test is skipped.
func Datasets(t testing.TB) string {
	return find(t, "KAZAHANA_DATASETS", "datasets")
}

func find(t testing.TB, env, name string) string {
	t.Helper()
	dir := os.Getenv(env)
	if dir == "" {
		dir = filepath.Join(root(t), "..", "shared", name)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded material (%v); set %s to its folder", err, env)
	}
	return dir
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
