// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
)

// subtree returns the directories that are there now.
func (w world) subtree(path ...string) []*directory.Directory {
	w.Helper()
	all, err := w.DB.Layer().Subtree(w.Context(), w.Engine, path)
	w.Must(err)
	return all
}

// TestCheckSubtree: directories are those of the nodes, or the error says which is not.
func TestCheckSubtree(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(world)
		want string // of the error; "" for none
	}{
		"unchanged":      {func(world) {}, ""},
		"one removed":    {func(w world) { w.Remove("a", "b") }, ""},
		"one made":       {func(w world) { w.Create("a", "b", "x") }, "another process has made or moved the directory a/b/x since a was shown"},
		"one made again": {func(w world) { w.Remove("a", "b", "c"); w.Create("a", "b", "c") }, "another process has put another directory at a/b/c since it was shown"},
		"exchanged": {
			func(w world) { w.Move("a/b", "y"); w.Move("a/d", "a/b"); w.Move("y", "a/d") },
			"another process has put another directory at a/b since it was shown",
		},
		"others": {func(w world) { w.Create("z", "x"); w.Remove("p") }, ""},
	} {
		w := newWorld(t)
		n := w.read(Survey{Depth: -1}, "a")
		test.do(w)
		err := n.CheckSubtree(w.subtree("a"))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestCheckSame: a directory is known again wherever it is moved, and by nothing else.
func TestCheckSame(t *testing.T) {
	w := newWorld(t)
	n := w.read(Survey{}, "a", "d")
	w.Move("a/d", "z/d")
	w.Must(n.CheckSame(w.subtree("z", "d")[0]))
	w.Create("a", "d")
	if err := n.CheckSame(w.subtree("a", "d")[0]); err == nil || !strings.Contains(err.Error(), "a/d since it was shown: nothing was changed") {
		t.Errorf("%v", err)
	}
}

// TestDescribe: a description counts all and names the directories with types.
func TestDescribe(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string][]string{
		"a":   {"a: 4 directories, 3 stores, about 0 B", "  a: Order", "  a/b: Bid, Order"},
		"p/q": {"p/q: 2 directories, 1 store, about 0 B", "  p/q: Order"},
		"z":   {"z: 1 directory, 0 stores, about 0 B"},
	} {
		if diff := cmp.Diff(want, w.read(Survey{Depth: -1}, strings.Split(path, "/")...).Describe()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestDescribeMany: of many directories with types it names the first, and counts the others.
func TestDescribeMany(t *testing.T) {
	for n, last := range map[int]string{
		mostDescribed:     "  z/9: Order",
		mostDescribed + 1: "  … and 1 more with types",
		mostDescribed + 5: "  … and 5 more with types",
	} {
		top := &Node{Path: []string{"z"}}
		for i := range n {
			top.Children = append(top.Children, &Node{Path: []string{"z", fmt.Sprint(i)}, Headers: []headers.Header{{Type: "Order"}}})
		}
		lines := top.Describe()
		if got := lines[len(lines)-1]; got != last || len(lines) != 1+min(n, mostDescribed+1) {
			t.Errorf("%d: %d lines, the last %q", n, len(lines), got)
		}
	}
}
