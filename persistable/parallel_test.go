// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// pairedReader is a transaction in which the first reads of keys with a certain part
// wait until there are two of them: two goroutines that look before they write
// have then both looked, and neither has written.
type pairedReader struct {
	kv.Transaction
	part []byte

	mu      sync.Mutex
	missing int
	met     chan struct{}
}

func pairReads(tx kv.Transaction, part string) *pairedReader {
	return &pairedReader{Transaction: tx, part: []byte(part), missing: 2, met: make(chan struct{})}
}

func (m *pairedReader) Get(key []byte) kv.Future[[]byte] {
	value := m.Transaction.Get(key)
	if bytes.Contains(key, m.part) {
		m.awaitOther()
	}
	return value
}

func (m *pairedReader) awaitOther() {
	m.mu.Lock()
	if m.missing > 0 {
		if m.missing--; m.missing == 0 {
			close(m.met)
		}
	}
	m.mu.Unlock()
	<-m.met
}

// Of two goroutines that write what cannot be written twice, in one
// transaction, one sees what the other has written.
func TestParallelWritesInOneTransaction(t *testing.T) {
	article := func(id, slug string) *Article {
		a := NewArticle(Article{Section: "s", Slug: slug, ISBN: ptr("978" + id + slug), Tags: []string{id, slug}, Published: day0})
		a.ID = id
		return a
	}
	type work func(*ArticleStore) error
	create := func(id, slug string) work {
		return func(s *ArticleStore) error { return s.Create(ctx, article(id, slug)) }
	}
	save := func(id, slug string) work {
		return func(s *ArticleStore) error { return s.Save(ctx, article(id, slug)) }
	}
	remove := func(s *ArticleStore) error { return s.Delete(ctx, "old") }
	taken := func(err error) bool { return errors.As(err, new(*persistable.UniqueError)) }
	exists := func(err error) bool { return errors.Is(err, persistable.ErrExists) }
	for name, c := range map[string]struct {
		one, two work
		loses    func(error) bool // nil: both succeed
		records  []int            // how many there may be at the end
	}{
		"one value, Create":           {create("a", "x"), create("b", "x"), taken, []int{2}},
		"one value, Save":             {save("a", "x"), save("b", "x"), taken, []int{2}},
		"one value, a record changed": {save("old", "x"), create("b", "x"), taken, []int{1, 2}},
		"one id, Create":              {create("a", "x"), create("a", "y"), exists, []int{2}},
		"one id, Save":                {save("a", "x"), save("a", "y"), nil, []int{2}},
		"one id, both change it":      {save("old", "x"), save("old", "y"), nil, []int{1}},
		"one id, changed and deleted": {save("old", "x"), remove, nil, []int{0, 1}},
		"one id, deleted twice":       {remove, remove, nil, []int{0}},
		"nothing in common":           {create("a", "x"), create("b", "y"), nil, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			s := ArticleStoreOf(db)
			check(t, s.Create(ctx, article("old", "old")))
			tx := must[kv.Transaction](t)(db.Engine().Begin())
			defer tx.Cancel()
			part := "\x02Article_ISBN_unique\x00" // the last key that a write looks at
			if name == "one id, deleted twice" || name == "one id, changed and deleted" {
				part = "\x02old\x00"
			}
			bound := s.In(db.In(pairReads(tx, part)))
			errs := make([]error, 2)
			var writers sync.WaitGroup
			for i, work := range []work{c.one, c.two} {
				writers.Go(func() { errs[i] = work(bound) })
			}
			writers.Wait()
			lost := 0
			for _, err := range errs {
				switch {
				case err == nil:
				case c.loses != nil && c.loses(err):
					lost++
				default:
					t.Error(err)
				}
			}
			if (c.loses != nil) != (lost == 1) {
				t.Errorf("%d lost: %v", lost, errs)
			}
			check(t, tx.Commit(ctx))
			report := sound(t, s.Indexes().Verify)
			for _, n := range c.records {
				if report.Records == n {
					return
				}
			}
			t.Errorf("%d records, want one of %v", report.Records, c.records)
		})
	}
}
