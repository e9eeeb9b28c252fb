// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// TestSubtree reads trees with partitions: each directory is the one that Open returns.
func TestSubtree(t *testing.T) {
	ctx, db, root := context.Background(), enginetest.Open(t), directory.Root()
	want := [][]string{{"t"}, {"t", "a"}, {"t", "a", "b"}, {"t", "p"}, {"t", "p", "q"}, {"t", "p", "q", "z"}, {"t", "p", "x"}}
	for i := range 300 {
		want = append(want, []string{"t", "wide", fmt.Sprintf("%03d", i)})
	}
	want = append(want, []string{"t", "wide"})
	for _, p := range append(want, path("tt"), path("other", "a")) {
		mustDir(t)(root.CreateOrOpen(ctx, db, p, expectsOf(p)...))
	}
	slices.SortFunc(want, slices.Compare[[]string])
	counted := faults.NewCounter(db)
	all, err := root.Subtree(ctx, counted, path("t"))
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, d := range all {
		got = append(got, d.Path())
		if alone := mustDir(t)(root.Open(ctx, db, d.Path())); alone.String() != d.String() || !slices.Equal(alone.Layers(), d.Layers()) ||
			alone.Annotation("x").String() != d.Annotation("x").String() {
			t.Errorf("%v, alone %v", d, alone)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rounds := counted.Counts().Rounds; rounds > 9 {
		t.Errorf("%d rounds", rounds)
	}
	for _, missing := range [][]string{{"no"}, {"t", "p", "no"}} {
		if _, err := root.Subtree(ctx, db, missing); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("%q: %v", missing, err)
		}
	}
}

// TestSubtreeOfACircle: a damaged link to a directory above ends in an error.
func TestSubtreeOfACircle(t *testing.T) {
	ctx, db, root := context.Background(), enginetest.Open(t), directory.Root()
	a := mustDir(t)(root.Create(ctx, db, path("a")))
	mustDir(t)(root.Create(ctx, db, path("a", "b")))
	err := db.Transact(ctx, func(tx kv.Transaction) error {
		links := tx.GetRange(kv.PrefixRange([]byte{0xfe}).Selectors(), kv.RangeOptions{})
		for pair, err := range links.All(ctx) {
			if err != nil {
				return err
			}
			if slices.Contains(pair.Key, 'b') && len(pair.Value) > 0 {
				tx.Set(pair.Key, a.Reserve().Begin)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := root.Subtree(ctx, db, path("a")); !errors.Is(err, directory.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}
