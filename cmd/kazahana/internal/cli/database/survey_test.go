// SPDX-License-Identifier: Apache-2.0

package database

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// world is a database with these directories, and headers in some of them:
//
//	a          Order
//	a/b        Bid, Order
//	a/b/c
//	a/d
//	p          a partition
//	p/q        Order
//	p/q/r
//	z
type world struct{ clitest.World }

func newWorld(t *testing.T) world {
	w := world{clitest.NewWorld(t)}
	for _, path := range []string{"a", "a/b", "a/b/c", "a/d", "z"} {
		w.Create(strings.Split(path, "/")...)
	}
	_, err := directory.Root().Create(t.Context(), w.Engine.Database, []string{"p"}, directory.As(directory.Partition))
	w.Must(err)
	w.Create("p", "q", "r")
	for _, store := range []string{"a:Order", "a/b:Order", "a/b:Bid", "p/q:Order"} {
		path, typ, _ := strings.Cut(store, ":")
		w.set(path, headers.Key(typ), nil)
	}
	return w
}

// set sets a key in a directory.
func (w world) set(path string, key, value []byte) {
	w.Helper()
	w.Must(w.Engine.Database.Transact(w.Context(), func(tx kv.Transaction) error {
		d, err := directory.Root().Open(w.Context(), tx, strings.Split(path, "/"))
		if err == nil {
			tx.Set(append(d.Reserve().Begin, key...), value)
		}
		return err
	}))
}

// fill sets 4 MB, so that the estimates of sizes are above 0.
func (w world) fill(path string) {
	w.Helper()
	for i := range 50 {
		w.set(path, []byte{0x15, byte(i)}, bytes.Repeat([]byte{1}, 80_000))
	}
}

func (w world) read(s Survey, path ...string) *Node {
	w.Helper()
	s.DB = w.DB
	n, err := s.Read(w.Context(), path...)
	w.Must(err)
	return n
}

// outline returns a line for each node, with + for one that has further children.
func outline(n *Node) (lines []string) {
	for d := range n.All {
		more := ""
		if d.More {
			more = " +"
		}
		lines = append(lines, fmt.Sprint("/", strings.Join(d.Path, "/"), d.Types(), more))
	}
	return lines
}

// TestDepthAndWidth: nodes are those of the levels and of the first names, and say what is missing.
func TestDepthAndWidth(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]struct {
		survey Survey
		path   []string
		want   []string
	}{
		"all":       {Survey{Depth: -1}, []string{"a"}, []string{"/a[Order]", "/a/b[Bid Order]", "/a/b/c[]", "/a/d[]"}},
		"partition": {Survey{Depth: -1}, []string{"p"}, []string{"/p[]", "/p/q[Order]", "/p/q/r[]"}},
		"none":      {Survey{}, []string{"a"}, []string{"/a[Order] +"}},
		"leaf":      {Survey{}, []string{"z"}, []string{"/z[]"}},
		"one level": {Survey{Depth: 1}, []string{"a"}, []string{"/a[Order]", "/a/b[Bid Order] +", "/a/d[]"}},
		"root":      {Survey{Depth: 1, Width: 2}, nil, []string{"/[] +", "/a[Order] +", "/kazahana[] +"}},
		"one name":  {Survey{Depth: -1, Width: 1}, []string{"a"}, []string{"/a[Order] +", "/a/b[Bid Order]", "/a/b/c[]"}},
		"pages":     {Survey{Depth: -1, page: 1}, []string{"a"}, []string{"/a[Order]", "/a/b[Bid Order]", "/a/b/c[]", "/a/d[]"}},
	} {
		for _, total := range []bool{false, true} { // which changes no node
			test.survey.Total = total
			if diff := cmp.Diff(test.want, outline(w.read(test.survey, test.path...))); diff != "" {
				t.Errorf("%s, with the total %v: %s", name, total, diff)
			}
		}
	}
}

// TestTotal: the totals of a node count what is below it, also what has no node.
func TestTotal(t *testing.T) {
	w := newWorld(t)
	for name, s := range map[string]Survey{
		"all": {Depth: -1}, "no nodes": {Total: true}, "one node": {Depth: -1, Width: 1, Total: true}, "by sizes": {Sizes: true}, "pages": {Total: true, page: 2},
	} {
		read := 0
		s.Visit = func() { read++ }
		if got := w.read(s, "a").Total; got.Directories != 4 || got.Stores != 3 || read != 4 {
			t.Errorf("%s: %+v, %d were read", name, got, read)
		}
		if got := w.read(s, "p").Total; got.Directories != 3 || got.Stores != 1 {
			t.Errorf("%s, partition: %+v", name, got)
		}
	}
	if got := w.read(Survey{Depth: 1}, "a").Total; got.Directories != 3 {
		t.Errorf("those not asked for were read: %+v", got)
	}
}

// TestBytes: a directory's size and those below it add up, but in a partition: its keys include
// those of its directories.
func TestBytes(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"a", "a/b/c", "p/q"} {
		w.fill(path)
	}
	n := w.read(Survey{Depth: -1, Sizes: true})
	a, p := n.Children[0], n.Children[slices.IndexFunc(n.Children, func(c *Node) bool { return c.Partition })]
	b := a.Children[0]
	if a.Own() < 2e6 || b.Own() > 100 || b.Total.Bytes < 2e6 || a.Total.Bytes != a.Own()+b.Total.Bytes {
		t.Errorf("a has %d of its own, a/b %d of %d, together %d", a.Own(), b.Own(), b.Total.Bytes, a.Total.Bytes)
	}
	if q := p.Children[0].Total.Bytes; q < 2e6 || p.Own() < q || p.Total.Bytes != p.Own() {
		t.Errorf("the partition has %d, and %d of its own; %d are in p/q", p.Total.Bytes, p.Own(), q)
	}
	if n := w.read(Survey{Depth: -1}, "a"); n.Total.Bytes != 0 {
		t.Errorf("%d bytes without sizes", n.Total.Bytes)
	}
}

// TestRemovedMeanwhile: a directory that another process removes while its parent is read is left
// out; without the one at the path there is nothing to return.
func TestRemovedMeanwhile(t *testing.T) {
	w := newWorld(t)
	read := 0
	n := w.read(Survey{Depth: -1, Visit: func() {
		if read++; read == 2 { // a/b: the names in its parent are read already
			w.Remove("a", "b")
			w.Remove("a", "d")
		}
	}}, "a")
	if diff := cmp.Diff([]string{"/a[Order]", "/a/b[Bid Order]"}, outline(n)); diff != "" {
		t.Error(diff)
	}
	if n.Total.Directories != 2 || n.Total.Stores != 3 {
		t.Errorf("%+v", n.Total)
	}
	if _, err := (Survey{DB: w.DB}).Read(t.Context(), "a", "b"); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// TestReadEnds: it returns the error of its context, not a part.
func TestReadEnds(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	read := 0
	_, err := Survey{DB: w.DB, Depth: -1, Visit: func() {
		if read++; read == 2 {
			cancel()
		}
	}}.Read(ctx, "a")
	if !errors.Is(err, context.Canceled) || read != 2 {
		t.Errorf("%v after %d directories", err, read)
	}
}

// TestReadPassesOverDamage: a key among the directories that is none, and a link that leads nowhere, hide
// no other directory, and the error names both.
func TestReadPassesOverDamage(t *testing.T) {
	w := newWorld(t)
	want, err := Survey{DB: w.DB, Depth: -1, Sizes: true}.Read(t.Context())
	w.Must(err)
	a, err := directory.Root().Open(t.Context(), w.Engine, []string{"a"})
	w.Must(err)
	w.Must(w.Engine.Database.Transact(t.Context(), func(tx kv.Transaction) error {
		links := func(parent []byte) []byte { return tuple.AppendInt(tuple.AppendBytes([]byte{0xfe}, parent), 0) }
		tx.Set(append(links([]byte{0xfe}), "\x02a\x00torn"...), []byte{0x15, 0x01})
		tx.Set(append(links(a.Reserve().Begin), "\x02c\x00"...), []byte{0xfe})
		return nil
	}))
	got, err := Survey{DB: w.DB, Depth: -1, Sizes: true}.Read(t.Context())
	if got == nil || got.Total.Directories != want.Total.Directories || got.Total.Stores != want.Total.Stores {
		t.Fatalf("%+v, want %+v", got, want)
	}
	if !errors.Is(err, directory.ErrCorrupt) || strings.Count(err.Error(), "corrupt metadata") != 2 {
		t.Errorf("the error is %v", err)
	}
}

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
