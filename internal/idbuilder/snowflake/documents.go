// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
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
