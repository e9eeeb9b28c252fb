// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"fmt"
	"os/exec"
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

func (n *notes) Logf(format string, args ...any) { n.log = append(n.log, fmt.Sprintf(format, args...)) }

func (n *notes) Fatal(args ...any) {
	n.failed = true
	n.log = append(n.log, fmt.Sprint(args...))
}

func TestRepeat(t *testing.T) {
	t.Run("a (case)", func(t *testing.T) {
		t.Setenv(Variable, "42")
		n := &notes{TB: t}
		if got := Of(n); got != 42 {
			t.Errorf("seed %d, want 42", got)
		}
		want := "to repeat: make replay SEED=42 PKG=./internal/seed RUN='^TestRepeat$/^a_\\(case\\)$'"
		if len(n.log) != 1 || n.log[0] != want {
			t.Errorf("logged %q, want %q", n.log, want)
		}
		if a, b := Rand(n).Uint64(), Rand(n).Uint64(); a != b {
			t.Errorf("two sources of one seed differ: %d, %d", a, b)
		}
	})
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

func TestNewSeeds(t *testing.T) {
	t.Setenv(Variable, "")
	if Given() {
		t.Error("an empty variable gives a seed")
	}
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
