// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// naiveDir is a directory as a plain tree in memory.
type naiveDir struct {
	layer    string
	prefix   string // what the layer answered when it was created
	children map[string]*naiveDir
}

// naive follows the rules of the directory layer with no storage at all.
type naive struct{ root *naiveDir }

// find returns the directories along path as far as they exist.
func (n *naive) find(path []string) (found []*naiveDir) {
	at := n.root
	for _, name := range path {
		if at = at.children[name]; at == nil {
			return found
		}
		found = append(found, at)
	}
	return found
}

func (n *naive) get(path []string) *naiveDir {
	if len(path) == 0 {
		return n.root
	}
	if found := n.find(path); len(found) == len(path) {
		return found[len(found)-1]
	}
	return nil
}

// home is the innermost partition that would hold path's own entry.
func (n *naive) home(path []string) *naiveDir {
	home := n.root
	for i, d := range n.find(path) {
		if d.layer == directory.Partition && i < len(path)-1 {
			home = d
		}
	}
	return home
}

func (n *naive) create(path []string, layer *string, orOpen bool) error {
	if d := n.get(path); d != nil {
		if !orOpen {
			return directory.ErrExists
		}
		return n.check(d, layer)
	}
	at := n.root
	for i, name := range path {
		next := at.children[name]
		if next == nil {
			next = &naiveDir{children: map[string]*naiveDir{}}
			if i == len(path)-1 && layer != nil {
				next.layer = *layer
			}
			at.children[name] = next
		}
		at = next
	}
	return nil
}

func (n *naive) check(d *naiveDir, layer *string) error {
	if layer != nil && *layer != d.layer {
		return directory.ErrLayer
	}
	return nil
}

func (n *naive) open(path []string, layer *string) error {
	if n.get(path) == nil {
		return directory.ErrNotFound
	}
	return n.check(n.get(path), layer)
}

func (n *naive) move(from, to []string) error {
	switch {
	case len(to) >= len(from) && slices.Equal(to[:len(from)], from):
		return directory.ErrMoveIntoSelf
	case n.get(from) == nil:
		return directory.ErrNotFound
	case n.home(from) != n.home(to):
		return directory.ErrBetweenPartitions
	case n.get(to) != nil:
		return directory.ErrExists
	case n.get(to[:len(to)-1]) == nil:
		return directory.ErrParentNotFound
	}
	n.get(to[:len(to)-1]).children[to[len(to)-1]] = n.get(from)
	delete(n.get(from[:len(from)-1]).children, from[len(from)-1])
	return nil
}

func (n *naive) remove(path []string) error {
	if n.get(path) == nil {
		return directory.ErrNotFound
	}
	delete(n.get(path[:len(path)-1]).children, path[len(path)-1])
	return nil
}

// walk calls fn for all directories in the order of their paths.
func (d *naiveDir) walk(path []string, fn func([]string, *naiveDir)) {
	for _, name := range d.names() {
		below := append(slices.Clone(path), name)
		fn(below, d.children[name])
		d.children[name].walk(below, fn)
	}
}

func (d *naiveDir) names() []string {
	var names []string
	for name := range d.children {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// modelRun drives a naive tree and a layer side by side.
type modelRun struct {
	naive   naive
	db      kv.Database
	hostile bool
	caches  []*directory.Cache
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { runModel(t, rt, func(db kv.Database) kv.Database { return db }) })
}

func TestModelHostile(t *testing.T) {
	seed := seed.Of(t)
	rapid.Check(t, func(rt *rapid.T) {
		runModel(t, rt, func(db kv.Database) kv.Database {
			return faults.Hostile(db, faults.Options{Seed: seed, MaxDelay: -1})
		})
	})
}

func runModel(t *testing.T, rt *rapid.T, wrap func(kv.Database) kv.Database) {
	engine := enginetest.Open(t)
	db := wrap(engine)
	m := &modelRun{naive: naive{&naiveDir{children: map[string]*naiveDir{}}}, db: db, hostile: db != engine}
	for range 2 {
		m.caches = append(m.caches, newCache(t, db, directory.CacheOptions{MaxEntries: 6}))
	}
	rt.Repeat(map[string]func(*rapid.T){
		"create":       m.create,
		"open":         m.open,
		"list":         m.list,
		"move":         m.move,
		"remove":       m.remove,
		"cached":       m.cached,
		"cachedCreate": m.cachedCreate,
		"givenUp":      m.givenUp,
	})
	m.compareAll(t)
}

func drawPath(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c/\x00"}), 1, 4).Draw(t, label)
}

func drawLayer(t *rapid.T) (*string, []directory.Expect) {
	layers := []string{"", "one", directory.Partition}
	i := rapid.IntRange(-3, len(layers)-1).Draw(t, "layer")
	if i < 0 {
		return nil, nil
	}
	return &layers[i], []directory.Expect{directory.As(layers[i])}
}

// run makes a call on the database, or in a transaction that is committed. On
// the hostile engine a function of the caller's may run again after it was
// committed, and then finds its own work: only what does not mind goes there.
func (m *modelRun) run(t *rapid.T, idempotent bool, call func(kv.Transactor) error) error {
	if (idempotent || !m.hostile) && rapid.Bool().Draw(t, "inTransaction") {
		return m.db.Transact(context.Background(), func(tx kv.Transaction) error { return call(tx) })
	}
	return call(m.db)
}

func (m *modelRun) create(t *rapid.T) {
	p, orOpen := drawPath(t, "path"), rapid.Bool().Draw(t, "orOpen")
	layer, expects := drawLayer(t)
	want := m.naive.create(p, layer, orOpen)
	var d *directory.Directory
	err := m.run(t, orOpen, func(tr kv.Transactor) (err error) {
		if orOpen {
			d, err = directory.Root().CreateOrOpen(context.Background(), tr, p, expects...)
		} else {
			d, err = directory.Root().Create(context.Background(), tr, p, expects...)
		}
		return err
	})
	sameError(t, want, err)
	m.sameDirectory(t, p, d, err)
}

func (m *modelRun) open(t *rapid.T) {
	p := drawPath(t, "path")
	layer, expects := drawLayer(t)
	d, err := directory.Root().Open(context.Background(), m.db, p, expects...)
	sameError(t, m.naive.open(p, layer), err)
	m.sameDirectory(t, p, d, err)
	exists, err := directory.Root().Exists(context.Background(), m.db, p)
	if err != nil || exists != (m.naive.get(p) != nil) {
		t.Fatalf("Exists: %t, %v", exists, err)
	}
}

func (m *modelRun) list(t *rapid.T) {
	p := drawPath(t, "path")[1:]
	names, err := directory.Root().List(context.Background(), m.db, p)
	d := m.naive.get(p)
	if d == nil {
		sameError(t, directory.ErrNotFound, err)
		return
	}
	if err != nil || !slices.Equal(names, d.names()) {
		t.Fatalf("List: %q, %v, want %q", names, err, d.names())
	}
}

func (m *modelRun) move(t *rapid.T) {
	from, to := drawPath(t, "from"), drawPath(t, "to")
	err := m.run(t, false, func(tr kv.Transactor) error {
		_, err := directory.Root().Move(context.Background(), tr, from, to)
		return err
	})
	sameError(t, m.naive.move(from, to), err)
}

func (m *modelRun) remove(t *rapid.T) {
	p := drawPath(t, "path")
	err := m.run(t, false, func(tr kv.Transactor) error { return directory.Root().Remove(context.Background(), tr, p) })
	sameError(t, m.naive.remove(p), err)
}

func (m *modelRun) cached(t *rapid.T) {
	p := drawPath(t, "path")
	layer, expects := drawLayer(t)
	d, err := cacheOpen(m.db, rapid.SampledFrom(m.caches).Draw(t, "cache"), p, expects...)
	sameError(t, m.naive.open(p, layer), err)
	m.sameDirectory(t, p, d, err)
}

func (m *modelRun) cachedCreate(t *rapid.T) {
	p, cache := drawPath(t, "path"), rapid.SampledFrom(m.caches).Draw(t, "cache")
	layer, expects := drawLayer(t)
	d, err := kv.Transact(context.Background(), m.db, func(tx kv.Transaction) (*directory.Directory, error) {
		return cache.CreateOrOpen(context.Background(), tx, p, expects...)
	})
	sameError(t, m.naive.create(p, layer, true), err)
	m.sameDirectory(t, p, d, err)
}

var errGivenUp = errors.New("given up")

// givenUp changes directories in a transaction that does not commit, looking
// at them through the caches.
func (m *modelRun) givenUp(t *rapid.T) {
	ctx, root := context.Background(), directory.Root()
	p, to := drawPath(t, "path"), drawPath(t, "to")
	kind, cache := rapid.IntRange(0, 2).Draw(t, "kind"), rapid.SampledFrom(m.caches).Draw(t, "cache")
	err := m.db.Transact(ctx, func(tx kv.Transaction) error {
		var err error
		switch kind {
		case 0:
			_, err = root.CreateOrOpen(ctx, tx, p)
		case 1:
			_, err = root.RemoveIfExists(ctx, tx, p)
		case 2:
			_, err = root.Move(ctx, tx, p, to)
		}
		if kv.CodeOf(err) != 0 {
			return err
		}
		for _, looked := range [][]string{p, to} {
			direct, err1 := root.Open(ctx, tx, looked)
			cached, err2 := cache.Open(ctx, tx, looked)
			if err := errors.Join(err1, err2); kv.CodeOf(err) != 0 {
				return err
			}
			if fmt.Sprint(direct) != fmt.Sprint(cached) {
				t.Fatalf("in the transaction: %v (%v), by the cache %v (%v)", direct, err1, cached, err2)
			}
		}
		return errGivenUp
	})
	if !errors.Is(err, errGivenUp) {
		t.Fatal(err)
	}
}

// sameDirectory checks a handle, and fixes the prefix of a new directory.
func (m *modelRun) sameDirectory(t *rapid.T, p []string, d *directory.Directory, err error) {
	if err != nil {
		return
	}
	want := m.naive.get(p)
	if !slices.Equal(d.Path(), p) || d.Layer() != want.layer {
		t.Fatalf("%v, want path %q and layer %q", d, p, want.layer)
	}
	prefix, err := d.Prefix()
	if (err != nil) != (want.layer == directory.Partition) {
		t.Fatalf("%v: %v", d, err)
	}
	if want.prefix == "" {
		want.prefix = string(prefix)
	}
	if want.prefix != string(prefix) {
		t.Fatalf("%v, want prefix %x", d, want.prefix)
	}
}

// sameError compares what the model says with what the layer says.
func sameError(t *rapid.T, want, got error) {
	switch {
	case want == nil && got == nil:
	case want == nil || got == nil:
		t.Fatalf("error %v, want %v", got, want)
	case !errors.Is(got, want), errors.Is(got, directory.ErrParentNotFound) != errors.Is(want, directory.ErrParentNotFound):
		t.Fatalf("error %v, want %v", got, want)
	}
}

// compareAll compares everything that is stored.
func (m *modelRun) compareAll(t *testing.T) {
	d := readDump(t, m.db, directory.Options{})
	d.checkSound(t)
	var want, got []string
	m.naive.root.walk(nil, func(p []string, d *naiveDir) { want = append(want, fmt.Sprintf("%q %q", p, d.layer)) })
	for _, n := range d.nodes {
		got = append(got, fmt.Sprintf("%q %q", n.path, n.layer))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("stored %q, want %q", got, want)
	}
}
