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
// has beside the clone, if it has any: newer ones must be adopted, or what they
// show is not replayed.
func TestAdopted(t *testing.T) {
	newer, err := filepath.Glob(filepath.Join(beside(t, "fdb-goldens"), "*"+plain))
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

// TestSkipFailsInCI checks that nothing is skipped in CI.
func TestSkipFailsInCI(t *testing.T) {
	for _, test := range []struct {
		ci   string
		want string
	}{{"", "skipped"}, {"true", "failed"}} {
		t.Setenv("CI", test.ci)
		tb := &recorder{TB: t}
		if skip(tb, "nothing"); tb.outcome != test.want {
			t.Errorf("with CI=%q the test is %s, want %s", test.ci, tb.outcome, test.want)
		}
	}
}

// recorder records how a test ends.
type recorder struct {
	testing.TB
	outcome string
}

func (r *recorder) Skipf(string, ...any)  { r.set("skipped") }
func (r *recorder) Fatalf(string, ...any) { r.set("failed") }

// set keeps the first outcome: the real methods do not return.
func (r *recorder) set(outcome string) {
	if r.outcome == "" {
		r.outcome = outcome
	}
}

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
