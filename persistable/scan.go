// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// Scan reads the records of a query, however many there are and however long that
// takes: see [Across]. T is what the query yields. A Scan is for one goroutine at a
// time; those that Split returns are independent of each other.
type Scan[T any] struct {
	run  *scanRun
	read func(v any) (T, error)
}

// Across returns the scan of a query's records over as many transactions as it
// takes. token is "" for all records, or what [Scan.Token] returned, also in another
// process: the scan then goes on there. The token is bound to the query (index, bounds,
// conditions, direction), the directory and the database, and does not expire. A
// query with a Limit counts that down over all calls. A query bound to a transaction
// cannot be read across transactions: All returns an error.
//
// Each transaction reads one version of the database, for five seconds at most. The
// next one goes on after the last record, at a later version. So a record that
// exists during the whole scan and does not change comes exactly once. In the order of
// ids ([Store.Scan]) each record comes at most once, as it was at one of these
// versions; one that is created or deleted during the scan comes or does not. In the order of
// an index, a record comes at both places or at neither if its entry moves during the
// scan. For one version of all records, see [DB.ReadTransact], which has five
// seconds.
//
// Memory: one batch of keys (of an index, with the records that they name) and no
// more, however long the scan is.
func Across[T any](q *Query[T], token string) *Scan[T] {
	return &Scan[T]{newScanRun((*erased.Query)(q), token), func(v any) (T, error) { return typed[T](v, nil) }}
}

// AcrossRows is [Across] for rows.
func AcrossRows[R any](q *RowQuery[R], token string) *Scan[R] {
	return &Scan[R]{newScanRun(q.erased().Query(), token), q.read}
}

// All yields the records that are left. After an error it stops. Called again, after an
// error too, it goes on after the last record that it has yielded. The query's
// FilterLimit counts anew in each call.
func (s *Scan[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var record T
		read := func(v any) (err error) {
			record, err = s.read(v)
			return err
		}
		s.run.yieldAll(ctx, read, func(err error) bool {
			if err != nil {
				var none T
				record = none
			}
			return yield(record, err)
		})
	}
}

// Token returns the place after the last record that All has yielded. In the body of a
// loop over All that is the record of the turn: take the token when the record is
// dealt with. A program that stores it then deals with each record at least once,
// and exactly once if it stores it in the transaction of what it does with the
// record. After an error the token is right as well. At the end it is that of a scan
// without records.
//
// It is made of letters, digits, "-" and "_".
func (s *Scan[T]) Token() string { return s.run.token() }

// Split divides what is left of the scan into parts, at most n and at least one, for
// goroutines or processes of their own: each part's token has its bounds. The parts
// together yield each record once, as the scan would; one after the other they are in the
// order of the query. The engine's sample of the keys says where to cut, so that the
// parts have about the same size, and fewer than n for little data. Each part reads at
// versions of its own.
//
// A query with a Limit cannot be divided. One of several ranges of keys, as [Query.Explain]
// tells, is one part. The scan itself stays as it is. Cost: two rounds.
func (s *Scan[T]) Split(ctx context.Context, n int) ([]*Scan[T], error) {
	runs, err := s.run.split(ctx, n)
	if err != nil {
		return nil, err
	}
	parts := make([]*Scan[T], len(runs))
	for i, run := range runs {
		parts[i] = &Scan[T]{run, s.read}
	}
	return parts, nil
}

// scanRun is a scan without the type of its records.
type scanRun struct {
	query  *query
	cursor cursor
	from   []byte // a part begins at this key of the cursor's plan, without prefix and shard; nil: at the query's begin
	before []byte // and ends before this one; nil: at the query's end
	ended  bool   // there are no further records
	err    error  // why it cannot read
	given  string // the token with which it began
}

// newScanRun returns what reads the query from the place of a token on.
func newScanRun(e *erased.Query, token string) *scanRun {
	r := &scanRun{query: newQuery(e), given: token}
	r.cursor.limit = r.query.limit
	r.err = r.query.checkUsable()
	switch {
	case r.err != nil:
	case r.query.tx != nil:
		r.err = fmt.Errorf("persistable: %s: a scan across transactions needs a query of a store that is not bound to one by In", r.query.record.Type)
	case token != "":
		r.err = r.resume(token)
	}
	return r
}

// yieldAll calls read with each record that is left, and then yield. After an error, of
// read too, it stops in front of that record.
func (r *scanRun) yieldAll(ctx context.Context, read func(any) error, yield func(error) bool) {
	switch {
	case r.err != nil:
		yield(r.err)
		return
	case r.ended:
		return
	}
	r.cursor.looked = 0
	behind := r.cursor
	r.ended = r.part().yieldAfter(ctx, &r.cursor, func(v any, err error) bool {
		if err == nil {
			if err = read(v); err != nil {
				r.cursor = behind
			}
		}
		behind = r.cursor
		return yield(err) && err == nil
	})
}

// part returns the query with the bounds of the scan.
func (r *scanRun) part() *query {
	q := *r.query
	q.from, q.before = r.from, r.before
	return &q
}

// split divides what is left of the scan into at most n parts.
func (r *scanRun) split(ctx context.Context, n int) (parts []*scanRun, err error) {
	ctx, op := r.query.begin(ctx, "Split", r.query.plan.Index)
	defer op.finish(&err)
	switch {
	case r.err != nil:
		return nil, r.err
	case n < 1:
		return nil, fmt.Errorf("persistable: %s: a scan cannot be divided into %d parts: ask for at least one", r.query.record.Type, n)
	case r.query.limit > 0:
		return nil, fmt.Errorf("persistable: %s: a scan with a limit cannot be divided: ask for the query without Limit", r.query.record.Type)
	case r.ended:
		return []*scanRun{r.copy()}, nil
	}
	points, c, err := r.readSplitPoints(ctx, n)
	if err != nil {
		return nil, err
	}
	return r.divide(points, c), nil
}

func (r *scanRun) copy() *scanRun {
	next := *r
	return &next
}

// readSplitPoints returns where to divide what is left, and the cursor with the plan to
// which these keys belong.
func (r *scanRun) readSplitPoints(ctx context.Context, n int) (points [][]byte, c cursor, err error) {
	q := r.part()
	err = q.runRead(ctx, func(t *transaction) error {
		points, c = nil, r.cursor
		o, err := t.openStore(ctx, q.place)
		if err != nil || o == nil {
			return err
		}
		p, err := q.choosePlan(o, &c)
		if err != nil || p.Union != nil || p.Both != nil || p.Words != nil {
			return err
		}
		s := newSplitter(o, p, q.keyRange(*p, o.keysOf(p), &c).Bounds)
		points, err = s.points(ctx, t.Reader, n)
		return err
	})
	return points, c, err
}

// divide returns the parts between the points, which are after the cursor.
func (r *scanRun) divide(points [][]byte, c cursor) (parts []*scanRun) {
	edges := slices.Concat([][]byte{r.from}, points, [][]byte{r.before})
	for i := range len(edges) - 1 {
		part := r.copy()
		part.from, part.before = edges[i], edges[i+1]
		part.cursor = cursor{plan: c.plan}
		parts = append(parts, part)
	}
	if r.query.reverse {
		slices.Reverse(parts)
	}
	parts[0].cursor = c
	return parts
}

// token returns the place of the scan: a page token with the tuple
// (ended, limit, position, from, before) as its key. Keys that are nil are empty.
func (r *scanRun) token() string {
	if r.err != nil {
		return r.given
	}
	b := tuple.AppendInt(tuple.AppendBool(nil, r.ended), int64(r.cursor.limit))
	for _, key := range [][]byte{r.cursor.position, r.from, r.before} {
		b = tuple.AppendBytes(b, key)
	}
	return queryTokens{r.query, scanToken}.seal(r.cursor.plan, b, false)
}

// scanToken is the kind of tokens that are of scans, not of pages.
var scanToken = []byte("scan")

// resume goes to the place of a token.
func (r *scanRun) resume(token string) error {
	p, key, _, err := queryTokens{r.query, scanToken}.open(token)
	if err == nil {
		r.cursor.plan = p
		err = r.decode(key)
	}
	if err != nil {
		return fmt.Errorf("%w: a scan of %s: %w", ErrBadToken, r.query.record.Type, err)
	}
	return nil
}

func (r *scanRun) decode(key []byte) error {
	ended, b, err := tuple.ReadBool(key)
	if err != nil {
		return err
	}
	limit, b, err := tuple.ReadInt(b)
	if err != nil {
		return err
	}
	r.ended, r.cursor.limit = ended, int(limit)
	for _, key := range []*[]byte{&r.cursor.position, &r.from, &r.before} {
		if *key, b, err = tuple.ReadBytes(b); err != nil {
			return err
		}
		if len(*key) == 0 {
			*key = nil
		}
	}
	return nil
}

// splitter divides a range of records or of entries. All keys are without prefix and
// shard, so that a part of a scattered range is read in all shards.
type splitter struct {
	keys      scan.Keyspace
	bounds    index.Bounds
	ofRecords bool // with chunks that have keys of their own
}

func newSplitter(o *openStore, p *plan, b index.Bounds) *splitter {
	return &splitter{keys: o.keysOf(p), bounds: b, ofRecords: p.Index == byID}
}

// points returns the keys at which the second and each later one of at most n parts
// begins, in order.
func (s *splitter) points(ctx context.Context, tx kv.ReadTransaction, n int) ([][]byte, error) {
	if n == 1 {
		return nil, nil
	}
	ranges := s.keys.RangesOf(s.bounds)
	chunks, err := chunkSizes(ctx, tx, ranges, n)
	if err != nil {
		return nil, err
	}
	asked := make([]kv.Future[[][]byte], len(ranges))
	for i, r := range ranges {
		asked[i] = tx.GetRangeSplitPoints(r, chunks[i])
	}
	var all [][]byte
	for i, answer := range asked {
		points, err := answer.Get(ctx)
		if err != nil {
			return nil, err
		}
		for _, point := range points {
			all = s.appendPoint(all, ranges[i], point)
		}
	}
	slices.SortFunc(all, bytes.Compare)
	return pickPoints(all, n), nil
}

// pointsPerPart is about how many points the engine gives for each part, so that parts of
// points have about the same size.
const pointsPerPart = 4

// chunkSizes returns the size of what is between two points of each range. Each shard has
// as many points as a range that is not scattered, because each part reads all shards.
func chunkSizes(ctx context.Context, tx kv.ReadTransaction, ranges []kv.KeyRange, n int) ([]int64, error) {
	sizes := make([]kv.Future[int64], len(ranges))
	for i, r := range ranges {
		sizes[i] = tx.GetEstimatedRangeSizeBytes(r)
	}
	chunks := make([]int64, len(ranges))
	for i := range sizes {
		size, err := sizes[i].Get(ctx)
		if err != nil {
			return nil, err
		}
		chunks[i] = max(size/pointsPerPart/int64(n), 1)
	}
	return chunks, nil
}

// appendPoint appends the key of a point within a range. A point among the chunks of a
// record becomes the key of the record, so that no part begins with a piece of one.
func (s *splitter) appendPoint(all [][]byte, r kv.KeyRange, point []byte) [][]byte {
	if bytes.Compare(point, r.Begin) <= 0 || bytes.Compare(point, r.End) >= 0 {
		return all
	}
	key := s.keys.Suffix(point)
	if s.ofRecords {
		rest, err := tuple.Skip(key)
		if err != nil {
			return all // no key of a record begins with it
		}
		key = key[:len(key)-len(rest)]
	}
	if within := s.bounds.Range(nil); bytes.Compare(key, within.Begin) <= 0 {
		return all
	}
	return append(all, slices.Clone(key))
}

// pickPoints returns at most n-1 of the points, at equal distances, each once.
func pickPoints(all [][]byte, n int) (picked [][]byte) {
	if len(all) < n {
		return slices.CompactFunc(all, bytes.Equal)
	}
	for i := range n - 1 {
		picked = append(picked, all[(i+1)*(len(all)+1)/n-1])
	}
	return slices.CompactFunc(picked, bytes.Equal)
}
