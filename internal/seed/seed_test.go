// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// notes keeps what a test logs.
type notes struct {
	testing.TB
	log    []string
	failed bool
}

func (n *notes) Helper() {}

func (n *notes) Log(args ...any) { n.log = append(n.log, fmt.Sprint(args...)) }

func (n *notes) Fatal(args ...any) {
	n.failed = true
	n.Log(args...)
}

func (n *notes) Fatalf(format string, args ...any) { n.Fatal(fmt.Sprintf(format, args...)) }

func TestRepeat(t *testing.T) {
	t.Run("a (case)", func(t *testing.T) {
		t.Setenv(Variable, "42")
		n := &notes{TB: t}
		if got := Of(n); got != 42 {
			t.Errorf("seed %d, want 42", got)
		}
		want := "to repeat: make replay SEED=42 PKG=./internal/seed RUN='^TestRepeat$/^a_\\(case\\)$'" + onCluster
		if len(n.log) != 1 || n.log[0] != want {
			t.Errorf("logged %q, want %q", n.log, want)
		}
		if a, b := Rand(n).Uint64(), Rand(n).Uint64(); a != b {
			t.Errorf("two sources of one seed differ: %d, %d", a, b)
		}
	})
}

// TestSeries: the seeds of a test of many follow each other from a seed that is set,
// and there are as many as the environment says.
func TestSeries(t *testing.T) {
	t.Setenv(Variable, "42")
	t.Setenv(RunsVariable, "")
	if got := Series(t, 3); !slices.Equal(got, []uint64{42, 43, 44}) {
		t.Errorf("three seeds from 42 on: %v", got)
	}
	t.Setenv(RunsVariable, "1")
	if got := Series(t, 3); !slices.Equal(got, []uint64{42}) {
		t.Errorf("in a replay: %v", got)
	}
	t.Setenv(RunsVariable, "0")
	n := &notes{TB: t}
	if Series(n, 3); !n.failed {
		t.Error("a test runs no seed")
	}
}

// TestReplay: make replay passes the pattern of a subtest on as it was printed.
func TestReplay(t *testing.T) {
	pattern := `^TestRepeat$/^a_\(case\)$`
	make := exec.Command("make", "-n", "-C", "../..", "replay", "SEED=42", "PKG=./internal/seed", "RUN="+pattern)
	out, err := make.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "-run '"+pattern+"' .") {
		t.Errorf("make runs %s, %v", out, err)
	}
}

// TestReplayOnACluster: a test that was built for a cluster is built for one again.
func TestReplayOnACluster(t *testing.T) {
	out, err := exec.Command("make", "-n", "-C", "../..", "replay", "SEED=42", "PKG=./kv/fdbkv", "RUN=^TestDifferential$", "FDB=1").CombinedOutput()
	if err != nil || !strings.Contains(string(out), ".ci/cluster go test -tags foundationdb ") {
		t.Errorf("make runs %s, %v", out, err)
	}
}

func TestNewSeeds(t *testing.T) {
	t.Setenv(Variable, "")
	if a, b := Of(t), Of(t); a == b {
		t.Errorf("two runs have the seed %d", a)
	}
}

func TestBadSeed(t *testing.T) {
	t.Setenv(Variable, "-1")
	n := &notes{TB: t}
	Of(n)
	if !n.failed || !strings.Contains(n.log[0], Variable) {
		t.Errorf("a seed of -1: %q", n.log)
	}
}
