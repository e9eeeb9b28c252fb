// SPDX-License-Identifier: Apache-2.0

package goldens

import (
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
)

var adopt = flag.Bool("adopt", false, "take the traces of the machine in place of those of the repository")

// TestAdopted compares the repository's traces with those that the machine
// has next to the clone, if it has any: newer ones must be adopted, or what they
// show is not replayed.
func TestAdopted(t *testing.T) {
	newer, err := filepath.Glob(filepath.Join(sharedFolder(t, "fdb-goldens"), "*"+plain))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range newer {
		own := filepath.Join("testdata", filepath.Base(path)+".gz")
		if *adopt {
			compress(t, path, own)
		}
		if digest(t, path) != digest(t, own) {
			t.Errorf("the trace %s is not that of the repository: run make goldens and commit", path)
		}
	}
}

// TestDataset finds a data set in the folder that the environment names, and
// fails where it is not in it.
func TestDataset(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "there.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(DatasetsVariable, dir)
	if got, found := Dataset(t, "there.json"); got != path || !found {
		t.Errorf("the data set is at %q (%v), want %q", got, found, path)
	}
	failed := &recorder{TB: t}
	if _, found := Dataset(failed, "missing.json"); found || !failed.failed {
		t.Errorf("a data set that is missing is found (%v), or does not fail the test (%v)", found, failed.failed)
	}
	t.Setenv(DatasetsVariable, "")
	if _, found := Dataset(t, "missing.json"); found {
		t.Error("a data set is found that there is not")
	}
}

// recorder records that a test fails.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Fatalf(string, ...any) { r.failed = true }

// digest returns the hash of a trace's content; that of none if there is none.
func digest(t *testing.T, path string) (sum [sha256.Size]byte) {
	t.Helper()
	file, err := Open(path)
	if os.IsNotExist(err) {
		return sum
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// compress writes the file from, compressed, to the file to.
func compress(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
