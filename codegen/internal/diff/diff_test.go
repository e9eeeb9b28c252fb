// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestUnifiedDiff(t *testing.T) {
	old := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n"
	now := "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n"
	want := `--- x
+++ x (generated)
@@ -1,5 +1,5 @@
 a
-b
+B
 c
 d
 e
@@ -9,3 +9,4 @@
 i
 j
 k
+l
`
	if diff := cmp.Diff(want, string(Unified("x", []byte(old), []byte(now)))); diff != "" {
		t.Errorf("unifiedDiff mismatch (-want +got):\n%s", diff)
	}
	if got := Unified("x", []byte(old), []byte(old)); got != nil {
		t.Errorf("equal texts differ: %s", got)
	}
	if got, want := string(Unified("x", nil, []byte("a\n"))), "--- x\n+++ x (generated)\n@@ -0,0 +1,1 @@\n+a\n"; got != want {
		t.Errorf("diff of a new file is %q, want %q", got, want)
	}
}

// TestEditScript: a script turns one text into the other, and is no longer than
// the longest common subsequence leaves.
func TestEditScript(t *testing.T) {
	text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		var from, to []string
		edits := 0
		for _, e := range editScript(a, b) {
			if e.op != '+' {
				from = append(from, e.line)
			}
			if e.op != '-' {
				to = append(to, e.line)
			}
			if e.op != ' ' {
				edits++
			}
		}
		if !slices.Equal(from, a) || !slices.Equal(to, b) {
			t.Fatalf("the script leads from %q to %q, not from %q to %q", from, to, a, b)
		}
		if want := len(a) + len(b) - 2*commonLength(a, b); edits != want {
			t.Fatalf("%d edits from %q to %q, want %d", edits, a, b, want)
		}
	})
}

// TestMemory: the difference of long texts takes little memory, even if they have nothing in common.
func TestMemory(t *testing.T) {
	var now, old strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&now, "new %d\n", i)
		fmt.Fprintf(&old, "old %d\n", i)
	}
	for _, before := range []string{"", old.String(), "new 0\n" + old.String() + "new 2999\n"} {
		var begin, end runtime.MemStats
		runtime.ReadMemStats(&begin)
		got := Unified("x", []byte(before), []byte(now.String()))
		runtime.ReadMemStats(&end)
		if n := (end.TotalAlloc - begin.TotalAlloc) >> 20; n > 40 {
			t.Errorf("from %d to 3000 lines: %d MiB", strings.Count(before, "\n"), n)
		}
		if n := strings.Count(string(got), "\n+new"); n < 2998 {
			t.Errorf("%d lines are added", n)
		}
	}
}

// commonLength is the length of the longest common subsequence, plainly.
func commonLength(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + commonLength(a[1:], b[1:])
	}
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			table[i][j] = max(table[i+1][j], table[i][j+1])
			if a[i] == b[j] {
				table[i][j] = 1 + table[i+1][j+1]
			}
		}
	}
	return table[0][0]
}
