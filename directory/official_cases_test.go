// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package directory_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

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
