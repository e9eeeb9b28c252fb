// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// pageStart is where a page begins: at the start of the query, or at one of these.
type pageStart struct {
	token  string
	record any  // the page begins after it
	before bool // the page ends before the record
}

// errNoRecord is the error of a page at no record.
var errNoRecord = errors.New("persistable: PageAfter and PageBefore need a record, and got nil: for the first page call Page")

// pageEnds is what a page says besides its records.
type pageEnds struct {
	size           int  // the maximum number of its records; there may be one more, to be left out
	backward       bool // the records are in the opposite order
	next, previous string
}

// arrange returns the records of a page in the order of the query.
func arrange[T any](e pageEnds, records []T) []T {
	records = records[:min(e.size, len(records))]
	if e.backward {
		slices.Reverse(records)
	}
	return records
}

// maxPage leaves room for one more in the limit of a range read, which FoundationDB
// has as an int32.
const maxPage = math.MaxInt32 - 1

// page calls take with each record of a page, in the direction in which it reads them, and with
// one more if there is one.
func (q *query) page(ctx context.Context, at pageStart, take func(any)) (e pageEnds, err error) {
	ctx, o := q.begin(ctx, "Page", q.plan.Index)
	defer o.finish(&err)
	defer q.nameEnded(ctx, "Page", nil, nil, &err)
	if err := q.checkUsable(); err != nil {
		return e, err
	}
	r := pageRead{query: q, start: at, size: min(orDefault(q.limit, q.place.db.options.PageSize), maxPage)}
	if err := r.open(); err != nil {
		return e, err
	}
	if err := r.run(ctx, take); err != nil {
		return e, err
	}
	return r.ends(), nil
}

// pageRead reads a page.
type pageRead struct {
	*query // in the direction in which the page is read
	start  pageStart
	size   int
	back   bool   // against the direction of the query
	from   cursor // with room for one record more, which tells whether there is another page

	n           int    // how many records there are
	first, last cursor // at the first and the last record of the page as it is read; without a position if there is none
}

// open opens the token, and turns the query around if the page is read backward.
func (r *pageRead) open() error {
	r.back = r.start.before
	if r.start.token != "" {
		p, key, backward, err := queryTokens{query: r.query}.open(r.start.token)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBadToken, err)
		}
		if r.from.plan, r.back = p, backward; len(key) > 0 {
			r.from.position = key
		}
	}
	r.from.limit = r.size + 1
	if r.back {
		r.query = r.turned()
	}
	return nil
}

// turned returns the query in the other direction.
func (q *query) turned() *query {
	other := *q
	other.reverse = !q.reverse
	return &other
}

func (r *pageRead) run(ctx context.Context, take func(any)) error {
	reset := func() {
		r.n = 0
		take(nil)
	}
	return r.readOneVersion(ctx, r.from, reset, func(t *transaction, c *cursor) error {
		if err := r.goToRecord(ctx, t, c); err != nil {
			return err
		}
		if r.n == 0 {
			r.first, r.last = cursor{plan: c.plan}, cursor{plan: c.plan}
		}
		for v, err := range r.records(ctx, t, c) {
			if err != nil {
				return err
			}
			take(v)
			if r.n++; r.n == 1 {
				r.first = *c
			}
			if r.n <= r.size {
				r.last = *c
			}
		}
		return nil
	})
}

// goToRecord moves a cursor at the start to the record at which the page begins.
func (r *pageRead) goToRecord(ctx context.Context, t *transaction, c *cursor) error {
	if r.start.record == nil || c.position != nil {
		return nil
	}
	o, err := t.openStore(ctx, r.place)
	if err != nil || o == nil {
		return err
	}
	p, err := r.choosePlan(o, c)
	if err == nil {
		c.position, err = recordPlace{query: r.query, store: o, v: r.start.record}.in(p)
	}
	return err
}

// ends returns what the page says of its neighbours. Where it has no records, the page before is
// that at the very end of the query.
func (r *pageRead) ends() pageEnds {
	tokens := queryTokens{query: r.query}
	if r.back {
		tokens.query = r.turned()
	}
	var ahead, behind string
	if r.n > r.size {
		ahead = tokens.seal(r.last.plan, r.last.position, r.back)
	}
	if r.from.position != nil || r.start.record != nil {
		behind = tokens.seal(r.first.plan, r.turnedPosition(&r.first), !r.back)
	}
	e := pageEnds{size: r.size, backward: r.back, next: ahead, previous: behind}
	if r.back {
		e.next, e.previous = behind, ahead
	}
	return e
}

// turnedPosition returns the position of a record for a read in the other direction. In the order
// of ids it is after the record's chunks, or, in reverse, before them.
func (r *pageRead) turnedPosition(c *cursor) []byte {
	switch {
	case c.position == nil || c.plan == nil || c.plan.Index != byID || c.plan.Union != nil:
		return c.position
	case r.reverse:
		return afterChunks(c.position)
	}
	return c.position[:len(c.position)-1]
}

// afterChunks returns the position after the record with that packed id and its chunks.
func afterChunks(id []byte) []byte { return append(slices.Clone(id), 0xff) }

// recordPlace finds the position of a record in a plan of a query.
type recordPlace struct {
	*query
	store *openStore
	v     any
}

// in returns the position, or [ErrNotFound] if the record has none there.
func (r recordPlace) in(p *plan) ([]byte, error) {
	switch {
	case p.Words != nil:
		return r.inWords(p)
	case p.Union != nil:
		return r.inUnion(p.Union)
	case p.Index == byID:
		return r.inRecords(p)
	}
	key, err := r.keyIn(p)
	if err == nil && p.Both != nil {
		key = key[len(p.Bounds.EqualValues()):]
	}
	return key, err
}

// inWords returns the position of a record in a search.
func (r recordPlace) inWords(p *plan) ([]byte, error) {
	s := wordScan{query: r.query, words: p.Words, ix: &r.store.indexes[p.Index]}
	n, err := s.countWords(r.v)
	if err != nil || n == 0 {
		return nil, cmp.Or(err, r.noPlace())
	}
	return positionOf(n, r.record.appendID(nil, r.v)), nil
}

// inRecords returns the position in the order of ids.
func (r recordPlace) inRecords(p *plan) ([]byte, error) {
	id := r.record.appendID(nil, r.v)
	switch {
	case !p.Bounds.Contains(id):
		return nil, r.noPlace()
	case r.reverse:
		return id, nil
	}
	return afterChunks(id), nil
}

// inUnion returns the position in the lane by which the record comes: the first one of which it
// fulfils the conditions.
func (r recordPlace) inUnion(u *erased.Union) ([]byte, error) {
	for i := range u.Lanes {
		if r.record.Values != nil && !r.record.Fulfils(r.v, u.Alternatives[i], nil) {
			continue
		}
		key, err := r.keyIn(&u.Lanes[i])
		if err != nil {
			return nil, err
		}
		if u.Merged {
			key = key[len(u.Lanes[i].Bounds.EqualValues()):]
		}
		return lanePosition{i, key}.bytes(), nil
	}
	return nil, r.noPlace()
}

// keyIn returns the key of the record's entry in the range of an index, without prefix and shard:
// of several entries the one that the query reads last, so that the record does not come again.
func (r recordPlace) keyIn(p *plan) (found []byte, err error) {
	ix := &r.store.indexes[p.Index]
	var set index.Set
	if e := set.Open(ix, r.record.appendID(nil, r.v)); e != nil {
		if err := r.record.AppendEntries(p.Index, e, r.v); err != nil {
			return nil, err
		}
	}
	if err := set.Close(ix); err != nil {
		return nil, r.record.indexError(err)
	}
	space, filter := scan.EntriesOf(ix), r.newFilter(p)
	for n := range set.Keys(0) {
		key := space.Suffix(set.Key(0, n))
		if p.Bounds.Contains(key) && filter.isCounted(r.v, key) && (found == nil || !r.reverse) {
			found = key
		}
	}
	if found == nil {
		return nil, r.noPlace()
	}
	return slices.Clone(found), nil
}

func (r recordPlace) noPlace() error {
	return fmt.Errorf("%w: the %s %s, at which a page is to begin, does not fit the query: begin with the first page", ErrNotFound, r.record.Type, idText(r.record.appendID(nil, r.v)))
}
