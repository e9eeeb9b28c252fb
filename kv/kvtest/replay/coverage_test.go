// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

//go:generate go test -v -run ^TestCoverage$ . -args -update

var update = flag.Bool("update", false, "write testdata/coverage.md anew")

const ledgerFile = "testdata/coverage.md"

// TestCoverage derives from the recordings which behaviour they prove, and
// compares testdata/coverage.md with that; -update writes it.
func TestCoverage(t *testing.T) {
	text := sharedLedger(t).render(areas(t))
	if *update {
		if err := os.WriteFile(ledgerFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(ledgerFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(old), string(text)); diff != "" {
		t.Errorf("testdata/coverage.md is not current: run make generate (-page +now):\n%s", diff)
	}
}

// TestObserversProveOnlyCells checks that what observers note are cells: a
// misspelt one would be unproven for ever.
func TestObserversProveOnlyCells(t *testing.T) {
	l := sharedLedger(t)
	listed := map[string]bool{}
	for _, a := range areas(t) {
		for _, c := range a.cells {
			if listed[c.key] {
				t.Errorf("two cells have the key %s", c.key)
			}
			listed[c.key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.proofs)) {
		if !listed[key] && !strings.HasPrefix(key, "error/") {
			t.Errorf("%s is proved by %s, and is no cell", key, l.proofs[key].first)
		}
	}
}

// ledger is what recordings prove.
type ledger struct {
	proofs map[string]*proof
	counts []fileCount
	digest string
}

// proof counts the scenarios that prove a cell.
type proof struct {
	first string
	files map[string]int
}

type fileCount struct {
	file                              string
	scenarios, steps, commits, losers int
}

// shared is the ledger of the recordings, read once; tests do not change it.
var shared *ledger

func sharedLedger(t *testing.T) *ledger {
	t.Helper()
	if shared == nil {
		shared = readLedger(t, goldens.Dir(t))
	}
	return shared
}

func readLedger(t *testing.T, dir string) *ledger {
	t.Helper()
	l := &ledger{proofs: map[string]*proof{}}
	sum := sha256.New()
	for _, pattern := range goldenFiles {
		paths, err := goldens.Glob(dir, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			l.readFile(t, path, sum)
		}
	}
	l.digest = fmt.Sprintf("%x", sum.Sum(nil))[:16]
	return l
}

func (l *ledger) readFile(t *testing.T, path string, sum io.Writer) {
	t.Helper()
	trace, err := goldens.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	scenarios, err := scenario.Decode(io.TeeReader(trace, sum), path)
	if err != nil {
		t.Fatal(err)
	}
	file := goldens.Name(path)
	count := fileCount{file: file, scenarios: len(scenarios)}
	for i := range scenarios {
		s := &scenarios[i]
		for key := range observe(s) {
			l.note(key, file, s.Name)
		}
		for j := range s.Steps {
			count.add(&s.Steps[j])
		}
	}
	l.counts = append(l.counts, count)
}

func (l *ledger) note(key, file, name string) {
	p := l.proofs[key]
	if p == nil {
		p = &proof{first: name, files: map[string]int{}}
		l.proofs[key] = p
	}
	p.files[file]++
}

func (c *fileCount) add(st *scenario.Step) {
	c.steps++
	if st.Op != "commit" && st.Op != "commit_await" {
		return
	}
	switch answerOf(st).code {
	case 0:
		c.commits++
	case 1020:
		c.losers++
	}
}

// String tells where the proofs are: the files, with the number of scenarios.
func (p *proof) String() string {
	var parts []string
	for _, file := range slices.Sorted(maps.Keys(p.files)) {
		parts = append(parts, fmt.Sprintf("%s %d", file, p.files[file]))
	}
	return strings.Join(parts, ", ")
}
