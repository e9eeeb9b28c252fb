// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/lease"
)

// documents is a [lease.Store] over a store of documents: a service is one
// document, which a transaction replaces if it is unchanged.
type documents struct {
	store store.Store
	now   func() time.Time
	locks locks // of services, so that the goroutines of one process do not conflict
	// admit reports whether a document without pairs may get its first ones, with errClosed if
	// its layout was replaced. It is asked when the document exists; nil: each may.
	admit func(ctx context.Context, service string) error
}

const (
	// attempts bounds how often a transaction runs when others change the document.
	attempts = 100
	// backOff is the longest time between two runs.
	backOff = 50 * time.Millisecond
)

// errContended says that a document was changed by others each time.
var errContended = fmt.Errorf("snowflake: the leases were changed by other workers %d times in a row", attempts)

// Update implements [lease.Store].
func (d *documents) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	unlock, err := d.locks.lock(ctx, service)
	if err != nil {
		return err
	}
	defer unlock()
	for n := range attempts {
		err := d.runOnce(ctx, service, fn)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
	return errContended
}

// Services implements [lease.Store]: the servers of this store need no list of them.
func (*documents) Services(context.Context, string, int) ([]string, error) {
	return nil, errors.ErrUnsupported
}

// runOnce runs the transaction once.
func (d *documents) runOnce(ctx context.Context, service string, fn func(lease.Tx) error) error {
	doc, page, err := d.read(ctx, service)
	if err != nil {
		return err
	}
	tx := &transaction{now: d.now(), pairs: page.pairs}
	if err := fn(tx); err != nil {
		return err
	}
	if len(tx.writes) == 0 {
		return nil
	}
	if page.Closed != 0 {
		return errClosed
	}
	if len(page.pairs) == 0 && d.admit != nil {
		if err := d.admitFirst(ctx, &doc, page); err != nil {
			return err
		}
	}
	page.pairs = tx.commit()
	return d.put(ctx, &doc, page)
}

// admitFirst makes sure that a change of layout, which closes the documents that exist once it
// has replaced the layout, misses none: the document exists before the layout is read. If
// the layout is replaced after that, the change sees the document, and closes it.
func (d *documents) admitFirst(ctx context.Context, doc *store.Document, p *page) error {
	if doc.Version == 0 {
		if err := d.put(ctx, doc, p); err != nil {
			return err
		}
	}
	return d.admit(ctx, doc.Key)
}

// put stores the page of a document, and sets the document's version.
func (d *documents) put(ctx context.Context, doc *store.Document, p *page) (err error) {
	if doc.Value, err = p.encode(); err == nil {
		doc.Version, err = d.store.Put(ctx, store.Leases, *doc)
	}
	if err != nil {
		return fmt.Errorf("snowflake: leases %q: %w", doc.Key, err)
	}
	return nil
}

// read returns the document of a service, with version 0 if there is none.
func (d *documents) read(ctx context.Context, service string) (store.Document, *page, error) {
	doc, err := d.store.Get(ctx, store.Leases, service)
	if errors.Is(err, store.ErrNotFound) {
		return store.Document{Key: service}, &page{}, nil
	}
	if err != nil {
		return doc, nil, fmt.Errorf("snowflake: leases %q: %w", service, err)
	}
	p, err := decodePage(doc)
	return doc, p, err
}

// errClosed says that the leases belong to a layout that was replaced.
var errClosed = errors.New("snowflake: the leases are those of a layout that was replaced")

// closeAt returns a change after which transactions on a page fail with errClosed, because
// the layout of a version replaces its layout.
func closeAt(version int64) func(*page) bool {
	return func(p *page) bool {
		changed := p.Closed < version
		p.Closed = max(p.Closed, version)
		return changed
	}
}

// openAt returns a change that undoes closeAt, if no later layout than that of the version
// has closed the page.
func openAt(version int64) func(*page) bool {
	return func(p *page) bool {
		if p.Closed == 0 || p.Closed >= version {
			return false
		}
		p.Closed = 0
		return true
	}
}

// all returns the documents with a prefix in the order of their keys. It ends after an
// error.
func (d *documents) all(ctx context.Context, prefix string) iter.Seq2[store.Document, error] {
	return func(yield func(store.Document, error) bool) {
		for o := (store.ListOptions{Prefix: prefix, Limit: 100}); ; {
			docs, err := d.store.List(ctx, store.Leases, o)
			if err != nil {
				yield(store.Document{}, fmt.Errorf("snowflake: leases %q: %w", prefix, err))
				return
			}
			if len(docs) == 0 {
				return
			}
			for _, doc := range docs {
				if o.After = doc.Key; !yield(doc, nil) {
					return
				}
			}
		}
	}
}

// changePages changes the pages of the documents with a prefix. If it fails, a further call
// goes on with those that it has not changed.
func (d *documents) changePages(ctx context.Context, prefix string, change func(*page) bool) error {
	for doc, err := range d.all(ctx, prefix) {
		if err != nil {
			return err
		}
		p, err := decodePage(doc)
		if err == nil && change(p) {
			err = d.changePage(ctx, doc.Key, change)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changePage stores the page of a service if change reports that it has changed it.
func (d *documents) changePage(ctx context.Context, service string, change func(*page) bool) error {
	for n := range attempts {
		doc, page, err := d.read(ctx, service)
		if err != nil || !change(page) {
			return err
		}
		if err = d.put(ctx, &doc, page); !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
	return errContended
}

// pause waits a random time before the next attempt, up to 1 ms after the first
// one, and up to twice as long after each further one.
func pause(ctx context.Context, n int) error {
	return sleep.For(ctx, rand.N(min(time.Millisecond<<min(n, 10), backOff)))
}

// page is the value of a document: the pairs of a service in the order of their
// keys.
type page struct {
	Format int    `json:"format"`
	Closed int64  `json:"closed,omitempty"` // the version of the layout that has closed this page; 0: it is open
	Pairs  []byte `json:"pairs"`            // deflated: for each pair the lengths of key and value as varints, and both
	pairs  []lease.Pair
}

const (
	pageFormat = 1
	// maxPage bounds the bytes of the pairs before they are deflated.
	maxPage = 16 << 20
)

// writers has writers for reuse: one needs 600 kB.
var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

// encode returns the page as JSON.
func (p *page) encode() ([]byte, error) {
	var deflated bytes.Buffer
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(&deflated)
	var raw []byte
	for _, pair := range p.pairs {
		raw = binary.AppendUvarint(raw, uint64(len(pair.Key)))
		raw = binary.AppendUvarint(raw, uint64(len(pair.Value)))
		raw = append(append(raw, pair.Key...), pair.Value...)
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	p.Format, p.Pairs = pageFormat, deflated.Bytes()
	value, err := json.Marshal(p)
	if err == nil && (len(value) > store.MaxValue || len(raw) > maxPage) {
		err = fmt.Errorf("it would have %d bytes, allowed are %d", len(value), store.MaxValue)
	}
	return value, err
}

// decodePage reads the value of a document.
func decodePage(doc store.Document) (*page, error) {
	p := &page{}
	if err := unmarshal(doc, &p.Format, pageFormat, p); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(p.Pairs)), maxPage+1))
	if err == nil && len(raw) > maxPage {
		err = fmt.Errorf("they have more than %d bytes", maxPage)
	}
	if err == nil {
		err = p.decodePairs(raw)
	}
	if err != nil {
		return nil, corrupt(doc, "its pairs cannot be read", err)
	}
	return p, nil
}

// decodePairs sets the pairs.
func (p *page) decodePairs(raw []byte) error {
	for len(raw) > 0 {
		key, n := binary.Uvarint(raw)
		value, m := binary.Uvarint(raw[max(n, 0):])
		if n <= 0 || m <= 0 || key > maxPage || value > maxPage || key+value > uint64(len(raw)-n-m) {
			return errors.New("a pair is cut short")
		}
		raw = raw[n+m:]
		pair := lease.Pair{Key: raw[:key:key], Value: raw[key : key+value : key+value]}
		if last := len(p.pairs) - 1; last >= 0 && bytes.Compare(p.pairs[last].Key, pair.Key) >= 0 {
			return errors.New("the keys are not in order")
		}
		p.pairs, raw = append(p.pairs, pair), raw[key+value:]
	}
	return nil
}

// unmarshal reads the JSON of a document, of which format is a member. Of a newer version's the
// error is a [store.ErrNewer]: what this program does not know it would lose with its next write.
func unmarshal(doc store.Document, format *int, known int, into any) error {
	err := newer.Unmarshal(doc.Value, into)
	switch {
	case *format > known:
		return corrupt(doc, "", newer.Format(int64(*format), int64(known), ""))
	case err != nil:
		return corrupt(doc, "its JSON cannot be read", err)
	case *format < 1:
		return corrupt(doc, fmt.Sprintf("its format is %d", *format), nil)
	}
	return nil
}

func corrupt(doc store.Document, reason string, err error) error {
	return &store.CorruptError{Where: fmt.Sprintf("%s %q", store.Leases, doc.Key), Reason: reason, Err: err}
}

// transaction is a [lease.Tx] on the pairs of a page, which it does not change.
type transaction struct {
	now    time.Time
	pairs  []lease.Pair
	writes []lease.Pair // in order; a nil value deletes
}

// Now implements [lease.Tx].
func (t *transaction) Now() time.Time { return t.now }

// Incarnation implements [lease.Tx]: a loss shows in the documents.
func (t *transaction) Incarnation() string { return "" }

// Get implements [lease.Tx].
func (t *transaction) Get(_ context.Context, keys ...[]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		if at, found := search(t.pairs, key); found {
			values[i] = t.pairs[at].Value
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *transaction) Scan(_ context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	from, _ := search(t.pairs, begin)
	until, _ := search(t.pairs, end)
	until = max(from, until)
	return slices.Clone(t.pairs[from:min(until, from+limit)]), nil
}

// Set implements [lease.Tx].
func (t *transaction) Set(key, value []byte) {
	t.writes = append(t.writes, lease.Pair{Key: key, Value: value})
}

// Delete implements [lease.Tx].
func (t *transaction) Delete(key []byte) { t.writes = append(t.writes, lease.Pair{Key: key}) }

// commit returns the pairs as the writes leave them.
func (t *transaction) commit() []lease.Pair {
	slices.SortStableFunc(t.writes, func(a, b lease.Pair) int { return bytes.Compare(a.Key, b.Key) })
	merged, rest := make([]lease.Pair, 0, len(t.pairs)+len(t.writes)), t.pairs
	for i, w := range t.writes {
		if i+1 < len(t.writes) && bytes.Equal(w.Key, t.writes[i+1].Key) {
			continue // a later write of the key follows
		}
		at, found := search(rest, w.Key)
		merged, rest = append(merged, rest[:at]...), rest[at:]
		if found {
			rest = rest[1:]
		}
		if w.Value != nil {
			merged = append(merged, w)
		}
	}
	return append(merged, rest...)
}

func search(pairs []lease.Pair, key []byte) (int, bool) {
	return slices.BinarySearchFunc(pairs, key, func(p lease.Pair, key []byte) int { return bytes.Compare(p.Key, key) })
}
