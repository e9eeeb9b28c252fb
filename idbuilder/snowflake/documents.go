// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"fmt"
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
	page.pairs = tx.commit()
	if doc.Value, err = page.encode(); err != nil {
		return fmt.Errorf("snowflake: document %q: %w", service, err)
	}
	if _, err := d.store.Put(ctx, store.Leases, doc); err != nil {
		return fmt.Errorf("snowflake: leases %q: %w", service, err)
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

// close makes later transactions on a service fail with errClosed, because the layout of a
// version replaces its layout.
func (d *documents) close(ctx context.Context, service string, version int64) error {
	return d.changePage(ctx, service, func(p *page) bool {
		changed := p.Closed < version
		p.Closed = max(p.Closed, version)
		return changed
	})
}

// open undoes close, if no later layout than that of the version has closed it.
func (d *documents) open(ctx context.Context, service string, version int64) error {
	return d.changePage(ctx, service, func(p *page) bool {
		if p.Closed == 0 || p.Closed >= version {
			return false
		}
		p.Closed = 0
		return true
	})
}

// changePage stores the page of a service if change reports that it has changed it.
func (d *documents) changePage(ctx context.Context, service string, change func(*page) bool) error {
	for n := range attempts {
		doc, page, err := d.read(ctx, service)
		if err != nil || !change(page) {
			return err
		}
		if doc.Value, err = page.encode(); err != nil {
			return err
		}
		_, err = d.store.Put(ctx, store.Leases, doc)
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("snowflake: leases %q: %w", service, err)
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
