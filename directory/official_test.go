// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package directory_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/tuple"
)

// tree returns all directories as an implementation sees them.
func tree(t *testing.T, i implementation, path []string) (all []string) {
	t.Helper()
	for _, name := range must[[]string](t)(i.list(path)) {
		below := append(slices.Clone(path), name)
		layer, prefix, err := i.look(below)
		if err != nil {
			t.Fatalf("%s: %q is listed, but: %v", i.name(), below, err)
		}
		all = append(all, fmt.Sprintf("%q layer %q prefix %x", below, layer, prefix))
		all = append(all, tree(t, i, below)...)
	}
	return all
}

// compare fails the test if the implementations see different directories, and
// returns what they see.
func (s sides) compare(t *testing.T) []string {
	t.Helper()
	ours, theirs := tree(t, s.ours, nil), tree(t, s.theirs, nil)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Fatalf("the official layer (-) and this one (+) see:\n%s", diff)
	}
	return ours
}

// TestOfficialLayer has both implementations work on one tree by turns, at
// random, and compares each answer with a model and what both see at the end of
// each program.
func TestOfficialLayer(t *testing.T) {
	seed := seed.Of(t)
	programs, steps := 12, 60
	if testing.Short() {
		programs = 3
	}
	for n := range programs {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r := &officialRun{
				sides: openSides(t), random: rand.New(rand.NewPCG(seed, uint64(n))),
				naive: naive{&naiveDir{children: map[string]*naiveDir{}}}, notes: map[*naiveDir]string{},
			}
			for i := range steps {
				r.step(t, i)
			}
			r.compareAll(t)
		})
	}
}

// officialRun is one random program.
type officialRun struct {
	sides
	random *rand.Rand
	naive  naive
	notes  map[*naiveDir]string // what was written into a directory
}

func (r *officialRun) path(least int) []string {
	path := make([]string, least+r.random.IntN(4-least))
	for i := range path {
		path[i] = []string{"a", "b", "c/\x00é"}[r.random.IntN(3)]
	}
	return path
}

func (r *officialRun) layer() string {
	return []string{"", "", "", "one", "two", directory.Partition}[r.random.IntN(6)]
}

func (r *officialRun) step(t *testing.T, i int) {
	t.Helper()
	side := r.both()[r.random.IntN(2)]
	path, to, layer, orOpen := r.path(1), r.path(1), r.layer(), r.random.IntN(2) == 0
	var expected *string
	if layer != "" {
		expected = &layer
	}
	var did string
	var want, got error
	switch verb := r.random.IntN(10); verb {
	case 0, 1, 2, 3:
		did = fmt.Sprintf("create %q layer %q, or open: %t", path, layer, orOpen)
		want, got = r.naive.create(path, expected, orOpen), side.create(path, layer, orOpen)
	case 4:
		did = fmt.Sprintf("open %q layer %q", path, layer)
		want, got = r.naive.open(path, expected), side.open(path, layer)
	case 5, 6:
		did = fmt.Sprintf("move %q to %q", path, to)
		want, got = r.naive.move(path, to), side.move(path, to)
	case 7:
		did = fmt.Sprintf("remove %q", path)
		removed, err := side.remove(path)
		if want, got = r.naive.remove(path), err; err == nil && !removed {
			got = directory.ErrNotFound
		}
	default:
		did = fmt.Sprintf("write into %q", path)
		want, got = r.write(path, fmt.Sprint(i)), side.note(path, noteKey, fmt.Sprint(i))
	}
	if (want == nil) != (got == nil) {
		t.Fatalf("step %d, %s: %s: error %v, expected was %v", i, side.name(), did, got, want)
	}
}

var noteKey = tuple.Tuple{"note", int64(-7), 1.5, []byte{0, 1}}

func (r *officialRun) write(path []string, note string) error {
	d := r.naive.get(path)
	switch {
	case d == nil:
		return directory.ErrNotFound
	case d.layer == directory.Partition:
		return directory.ErrPartition
	}
	r.notes[d] = note
	return nil
}

// compareAll compares what both implementations see with each other and with
// the model, the notes in the directories included, and removes everything:
// then no key may be left but those of versions and allocators.
func (r *officialRun) compareAll(t *testing.T) {
	t.Helper()
	count := 0
	r.naive.root.walk(nil, func(path []string, d *naiveDir) {
		count++
		for _, side := range r.both() {
			layer, _, err := side.look(path)
			if err != nil || layer != d.layer {
				t.Errorf("%s: %q has layer %q (%v), expected was %q", side.name(), path, layer, err, d.layer)
			}
			if d.layer == directory.Partition {
				continue
			}
			if note, err := side.read(path, noteKey); err != nil || note != r.notes[d] {
				t.Errorf("%s: the note in %q is %q (%v), expected was %q", side.name(), path, note, err, r.notes[d])
			}
		}
	})
	if seen := r.compare(t); len(seen) != count {
		t.Errorf("%d directories are there, expected were %d", len(seen), count)
	}
	for i, name := range r.naive.root.names() {
		if removed, err := r.both()[i%2].remove([]string{name}); err != nil || !removed {
			t.Errorf("removing %q: %t, %v", name, removed, err)
		}
	}
	r.checkEmpty(t)
}

// checkEmpty fails the test if anything but the root's own metadata is left.
func (s sides) checkEmpty(t *testing.T) {
	t.Helper()
	nodes := tuple.NewSubspace(append(s.space.Bytes(), 0xfe))
	root := nodes.Sub(nodes.Bytes())
	transact(t, s.ours.db, func(tx kv.Transaction) error {
		pairs, err := tx.GetRange(kv.PrefixRange(s.space.Bytes()).Selectors(), kv.RangeOptions{}).Slice(t.Context())
		for _, pair := range pairs {
			if !root.Sub([]byte("hca")).Contains(pair.Key) && !root.Sub([]byte("version")).Contains(pair.Key) {
				t.Errorf("left is %s", tuple.Describe(pair.Key))
			}
		}
		return err
	})
}

// TestOfficialPrefixes allocates prefixes by both implementations at once: no
// two directories get overlapping ones.
func TestOfficialPrefixes(t *testing.T) {
	s := openSides(t)
	const each = 60
	var wg sync.WaitGroup
	for _, side := range s.both() {
		for worker := range 3 {
			wg.Go(func() {
				for i := range each / 3 {
					if err := side.create(path(fmt.Sprintf("%s %d %d", side.name(), worker, i)), "", i%2 == 0); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if seen := s.compare(t); len(seen) != 2*each {
		t.Errorf("%d directories are there, expected were %d", len(seen), 2*each)
	}
	var prefixes [][]byte
	for _, name := range must[[]string](t)(s.theirs.list(nil)) {
		_, prefix, err := s.theirs.look(path(name))
		if err != nil {
			t.Fatal(err)
		}
		prefixes = append(prefixes, prefix)
	}
	slices.SortFunc(prefixes, bytes.Compare)
	for i := range len(prefixes) - 1 {
		if bytes.HasPrefix(prefixes[i+1], prefixes[i]) {
			t.Errorf("the prefixes %x and %x overlap", prefixes[i], prefixes[i+1])
		}
	}
}

// TestOfficialOnePath creates one path by both implementations at once: there
// is one directory.
func TestOfficialOnePath(t *testing.T) {
	s := openSides(t)
	var wg sync.WaitGroup
	for _, side := range s.both() {
		for range 4 {
			wg.Go(func() {
				if err := side.create(path("a", "b", "c"), "one", true); err != nil {
					t.Errorf("%s: %v", side.name(), err)
				}
			})
		}
	}
	wg.Wait()
	if seen := s.compare(t); len(seen) != 3 {
		t.Errorf("there are %q", seen)
	}
}

// TestOfficialManualPrefix chooses prefixes that the other implementation has
// given away, or lies in, or contains.
func TestOfficialManualPrefix(t *testing.T) {
	s := openSides(t)
	manual := append(s.space.Bytes(), "manual"...)
	for i, side := range s.both() {
		other := s.both()[1-i]
		own := append(slices.Clone(manual), byte('0'+i))
		if err := side.createPrefix(path(side.name()), own); err != nil {
			t.Errorf("%s: %v", side.name(), err)
		}
		for _, taken := range [][]byte{own, append(slices.Clone(own), 0), own[:len(own)-1]} {
			if err := other.createPrefix(path("taken"), taken); err == nil {
				t.Errorf("%s gave away %x, which has what %s has given away", other.name(), taken, side.name())
			}
		}
	}
	s.compare(t)
}

// TestOfficialOneTransaction has both implementations work in one transaction
// of the official binding: each sees what the other has not committed yet.
func TestOfficialOneTransaction(t *testing.T) {
	s := openSides(t)
	ctx := context.Background()
	_, err := s.theirs.db.Transact(func(tr fdb.Transaction) (any, error) {
		tx := fdbkv.Wrap(tr)
		if _, err := s.ours.layer.CreateOrOpen(ctx, tx, path("p"), directory.As(directory.Partition)); err != nil {
			return nil, fdbkv.ForBinding(err)
		}
		if _, err := s.theirs.layer.CreateOrOpen(tr, path("p", "theirs"), []byte("one")); err != nil {
			return nil, err
		}
		d, err := s.ours.layer.Move(ctx, tx, path("p", "theirs"), path("p", "moved"))
		if err != nil {
			return nil, fdbkv.ForBinding(err)
		}
		theirs, err := s.theirs.layer.Open(tr, path("p", "moved"), []byte("one"))
		if err != nil {
			return nil, err
		}
		if prefix, err := d.Prefix(); err != nil || !bytes.Equal(prefix, theirs.Bytes()) {
			t.Errorf("the prefix is %x (%v), officially %x", prefix, err, theirs.Bytes())
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen := s.compare(t); len(seen) != 2 {
		t.Errorf("there are %q", seen)
	}
}

// TestOfficialCache keeps a directory in a cache while the official layer,
// which announces nothing, moves and removes it: VerifyNodes sees it.
func TestOfficialCache(t *testing.T) {
	s := openSides(t)
	ctx := context.Background()
	cache := must[*directory.Cache](t)(directory.NewCache(s.ours.layer, s.ours.db, directory.CacheOptions{VerifyNodes: true}))
	cached := func(name string) (found bool) {
		transact(t, s.ours.db, func(tx kv.Transaction) error {
			_, err := cache.Open(ctx, tx, path(name))
			found = err == nil
			return nil
		})
		return found
	}
	if err := s.theirs.create(path("a"), "", false); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !cached("a") {
			t.Fatal("the directory is not found")
		}
	}
	if err := s.theirs.move(path("a"), path("b")); err != nil {
		t.Fatal(err)
	}
	if cached("a") || !cached("b") {
		t.Error("the directory is not found where the official layer has moved it")
	}
	if _, err := s.theirs.remove(path("b")); err != nil {
		t.Fatal(err)
	}
	if cached("b") {
		t.Error("the directory is found though the official layer has removed it")
	}
}
