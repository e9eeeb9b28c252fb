// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestIntersectionSkips intersects two indexes whose entries lie in long runs of one of
// them: whole batches of one index have no partner, so that its read goes on at the
// other's next id. The first id behind a run is often the only common one.
func TestIntersectionSkips(t *testing.T) {
	random := seed.Rand(t)
	counter := faults.NewCounter(enginetest.Open(t))
	s := ArticleStoreOf(open(t, counter))
	var all []*Article
	var want []string
	add := func(n int, editor, tag bool) {
		for range n {
			a := &Article{ID: fmt.Sprintf("%026d", len(all)), Section: "s", Slug: fmt.Sprint(len(all)), Published: day0}
			if editor {
				a.Editor = ptr("ann")
			}
			if tag {
				a.Tags = []string{"x"}
			}
			if all = append(all, a); editor && tag {
				want = append(want, a.Slug)
			}
		}
	}
	for run := range 6 {
		add(1, true, true)
		add(800+random.IntN(800), run%2 == 0, run%2 == 1)
		add(random.IntN(2), true, true)
	}
	check(t, s.SaveMany(ctx, all, persistable.BatchOptions{}))
	q := found[*Article](t)(s.Find(ArticleFields.Editor.Equal(ptr("ann")), ArticleFields.Tags.Equal("x"))).FilterLimit(math.MaxInt)
	for _, reverse := range []bool{false, true} {
		if reverse {
			q = q.Reverse()
			slices.Reverse(want)
		}
		var got []string
		counts, err := counter.Measure(func() error {
			found, err := q.Slice(ctx)
			got = slugs(found)
			return err
		})
		check(t, err)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("in reverse %t (-want +got):\n%s", reverse, diff)
		}
		if counts.Ranges < 4 {
			t.Errorf("in reverse %t: it read %d ranges: it skipped nothing", reverse, counts.Ranges)
		}
	}
}

// TestIntersectionReadsOn intersects two indexes of which every batch has common entries:
// their reads go on and do not begin again.
func TestIntersectionReadsOn(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	s := ArticleStoreOf(open(t, counter))
	var all []*Article
	for i := range 1000 {
		a := &Article{ID: fmt.Sprintf("%026d", i), Section: "s", Slug: fmt.Sprint(i), Published: day0, Editor: ptr("ann")}
		if i%3 == 0 {
			a.Tags = []string{"x"}
		}
		all = append(all, a)
	}
	check(t, s.SaveMany(ctx, all, persistable.BatchOptions{}))
	q := found[*Article](t)(s.Find(ArticleFields.Editor.Equal(ptr("ann")), ArticleFields.Tags.Equal("x"))).FilterLimit(math.MaxInt)
	check(t, second(q.First(ctx))) // opens the store
	counts, err := counter.Measure(func() error { return second(q.Slice(ctx)) })
	if check(t, err); counts.Ranges != 2 {
		t.Errorf("it began %d reads of ranges", counts.Ranges)
	}
}
