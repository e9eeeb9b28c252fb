// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// hit is a record that a search has found, as yet by its entries only.
type hit struct {
	matches  int // how many of the words it has
	last     int // the number of the last one
	entry    kv.KeyValue
	position []byte
}

// positionOf returns what hits are ordered by: those with more matches come first, then the id.
func positionOf(matches int, id []byte) []byte {
	return append(tuple.AppendInt(nil, -int64(matches)), id...)
}

// wordScan reads the records of a search. It reads the entries of all words, each time anew, because
// their order depends on all of them.
type wordScan struct {
	*query
	words *erased.Words
	ix    *index.Index
	tx    *transaction
	store *openStore

	writes int64 // how many the transaction had made before the entries were read
}

func (q *query) newWordScan(t *transaction, o *openStore, p *plan) wordScan {
	return wordScan{query: q, words: p.Words, ix: &o.indexes[p.Index], tx: t, store: o, writes: t.CountWrites()}
}

// after returns the hits after a cursor, in the direction of the query.
func (s wordScan) after(ctx context.Context, c *cursor) ([]hit, error) {
	hits, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(hits, func(a, b hit) int { return bytes.Compare(a.position, b.position) })
	if s.reverse {
		slices.Reverse(hits)
	}
	if c.position == nil {
		return hits, nil
	}
	return hits[sort.Search(len(hits), func(i int) bool {
		order := bytes.Compare(hits[i].position, c.position)
		return order != 0 && order > 0 != s.reverse
	}):], nil
}

// mostWords is how many words a search may have: each is a read.
const mostWords = 100

// read returns all hits, in no order. It starts the reads of all words at once.
func (s wordScan) read(ctx context.Context) ([]hit, error) {
	if n := len(s.words.Of); n > mostWords {
		return nil, sentinel.Mark(ErrFilterLimit, fmt.Errorf("persistable: %s: the text of the search has %d words, at most %d are possible", s.record.Type, n, mostWords))
	}
	left := orDefault(s.filterLimit, DefaultSearchLimit)
	reads := make([]kv.RangeResult, len(s.words.Of))
	for i := range reads {
		o := kv.RangeOptions{Mode: kv.ModeWantAll}
		if left != NoLimit {
			o.Limit = left + 1
		}
		reads[i] = s.tx.Reader.GetRange(s.words.Bounds(i).Range(s.ix.Prefix).Selectors(), o)
	}
	found := map[string]*hit{}
	for i, read := range reads {
		entries, err := read.Slice(ctx)
		if err != nil {
			return nil, err
		}
		if left -= len(entries); left < 0 {
			return nil, s.tooBroad()
		}
		if err := s.addHits(found, i, entries); err != nil {
			return nil, err
		}
	}
	return s.matching(found), nil
}

// addHits counts the entries of the i-th word. A beginning may have several of one record.
func (s wordScan) addHits(found map[string]*hit, i int, entries []kv.KeyValue) error {
	for _, pair := range entries {
		e, err := splitEntry(s.ix, pair)
		if err != nil {
			return s.record.indexError(err)
		}
		h := found[string(e.id)]
		switch {
		case h == nil:
			found[string(e.id)] = &hit{matches: 1, last: i, entry: pair}
		case h.last < i:
			h.matches, h.last = h.matches+1, i
		}
	}
	return nil
}

// matching returns the hits that have as many words as are wanted.
func (s wordScan) matching(found map[string]*hit) (hits []hit) {
	for id, h := range found {
		if s.words.Any || h.matches == len(s.words.Of) {
			h.position = positionOf(h.matches, []byte(id))
			hits = append(hits, *h)
		}
	}
	return hits
}

// tooBroad is the error of a search for words that too many records have.
func (s wordScan) tooBroad() error {
	return sentinel.Mark(ErrFilterLimit, fmt.Errorf("persistable: %s: the words of the search have more than %d entries in the index %s: ask for words that fewer records have, or raise the query's FilterLimit",
		s.record.Type, orDefault(s.filterLimit, DefaultSearchLimit), s.ix.Name))
}

// mostHits is how many records of a search are fetched at once.
const mostHits = 128

// emit yields the records of hits, and moves the cursor past each.
func (s wordScan) emit(ctx context.Context, hits []hit, c *cursor, yield func(any, error) bool) {
	for len(hits) > 0 {
		n := min(len(hits), mostHits)
		if c.limit > 0 && !s.words.Phrase {
			n = min(n, c.limit)
		}
		emitted := s.emitBatch(ctx, hits[:n], c, yield)
		if emitted == 0 {
			return
		}
		hits = hits[emitted:]
	}
}

// emitBatch fetches the records of some hits, and yields them. It returns how many of them it is past, 0
// if the query does not go on.
func (s wordScan) emitBatch(ctx context.Context, hits []hit, c *cursor, yield func(any, error) bool) int {
	b := newEntryBatch(s.record, s.tx, s.store)
	defer b.release()
	b.readBefore(s.tx, s.writes)
	entries := make([]kv.KeyValue, len(hits))
	for i := range hits {
		entries[i] = hits[i].entry
	}
	err := b.startFetches(s.ix, entries)
	var records []any
	if err == nil {
		records, err = b.awaitSome(ctx)
	}
	for i, v := range records {
		if !s.emitRecord(v, b.isOld(), hits[i].position, c, yield) {
			return 0
		}
	}
	if err != nil {
		yield(nil, err)
		return 0
	}
	return len(records)
}

// emitRecord yields the record of a hit, which may be old, unless the search does not find it. It reports whether the
// query goes on.
func (s wordScan) emitRecord(v any, old bool, position []byte, c *cursor, yield func(any, error) bool) bool {
	if v == nil || s.hides(v) {
		c.position = position
		return true
	}
	found, err := true, error(nil)
	if s.words.Phrase {
		err = s.countRecord(&c.looked)
	}
	if err == nil && (old || s.words.Phrase) {
		found, err = s.finds(v, old)
	}
	switch {
	case err != nil:
		yield(nil, err)
		return false
	case !found:
		c.position = position
		return true
	}
	c.movePast(position)
	return yield(v, nil) && !c.done
}

// finds reports whether the record of a hit has the phrase, if that is what is sought, and if the hit may be old, the
// words.
func (s wordScan) finds(v any, old bool) (bool, error) {
	if old {
		n, err := s.countWords(v)
		return n > 0, err
	}
	return s.hasPhrase(v)
}

// countWords returns how many of the words a record has; 0 if the search does not find it.
func (s wordScan) countWords(v any) (int, error) {
	var set index.Set
	if e := set.Open(s.ix, s.record.appendID(nil, v)); e != nil {
		if err := s.record.AppendEntries(s.plan.Index, e, v); err != nil {
			return 0, err
		}
	}
	if err := set.Close(s.ix); err != nil {
		return 0, s.record.indexError(err)
	}
	n := s.words.Match(func(b index.Bounds) bool {
		for n := range set.Keys(0) {
			if b.Contains(set.Key(0, n)[len(s.ix.Prefix):]) {
				return true
			}
		}
		return false
	})
	if n > 0 && s.words.Phrase {
		if has, err := s.hasPhrase(v); err != nil || !has {
			return 0, err
		}
	}
	return n, nil
}

// hasPhrase reports whether one of the texts of a record has the words one after the other.
func (s wordScan) hasPhrase(v any) (bool, error) {
	var texts []string
	if err := s.record.AppendEntries(s.plan.Index, index.CollectTexts(&texts), v); err != nil {
		return false, err
	}
	return slices.ContainsFunc(texts, s.words.IsIn), nil
}

// scanWords yields the records of a search after the cursor.
func (q *query) scanWords(ctx context.Context, t *transaction, o *openStore, p *plan, c *cursor, yield func(any, error) bool) {
	s := q.newWordScan(t, o, p)
	hits, err := s.after(ctx, c)
	if err != nil {
		yield(nil, err)
		return
	}
	s.emit(ctx, hits, c, yield)
}

// countHits yields the entry of each hit after the cursor.
func (q *query) countHits(ctx context.Context, t *transaction, o *openStore, p *plan, c *cursor, yield func([]byte, error) bool) {
	hits, err := q.newWordScan(t, o, p).after(ctx, c)
	if err != nil {
		yield(nil, err)
		return
	}
	for _, h := range hits {
		c.movePast(h.position)
		if !yield(h.entry.Key, nil) || c.done {
			return
		}
	}
}
