// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/lease"
)

// Active returns how many worker ids of the key are leased: those of clients that
// ask again, and those kept for clients that may not. Leases that cannot be read hide no
// others: then Active counts these, and returns an error that joins one for each that it has passed over;
// see [IsUnreadable].
func (l *Leaser) Active(ctx context.Context, key Key) (int, error) {
	n, _, err := l.countLeases(ctx, prefixOf(key.Name, key.Layout), key.Layout.shardWidth())
	return n, err
}

// IsUnreadable reports whether an error says of leases that they cannot be read: they are damaged, or a
// newer version wrote them.
func IsUnreadable(err error) bool { return store.IsUnreadable(err) || lease.IsUnreadable(err) }

// countLeases returns the number of leases in the documents with a prefix, and the end of
// the last one. It passes over what cannot be read, which the error says.
func (l *Leaser) countLeases(ctx context.Context, prefix string, bits int) (n int, held time.Time, err error) {
	var unread []error
	for doc, err := range l.documents.all(ctx, prefix) {
		if err != nil {
			return n, held, errors.Join(append(unread, err)...)
		}
		listed, err := l.listLeases(ctx, doc, bits)
		if err != nil && !IsUnreadable(err) {
			return n, held, errors.Join(append(unread, err)...)
		}
		if err != nil {
			unread = append(unread, fmt.Errorf("snowflake: leases %q: %w", doc.Key, err))
		}
		n += len(listed)
		for _, info := range listed {
			held = latest(held, info.Expired)
		}
	}
	return n, held, errors.Join(unread...)
}

// listLeases returns the leases in a document, with an error also if some cannot be read.
func (l *Leaser) listLeases(ctx context.Context, doc store.Document, bits int) ([]lease.Info, error) {
	p, err := decodePage(doc)
	if err != nil {
		return nil, err
	}
	server, err := lease.NewServer(snapshot{page: p, now: l.options.Now()}, lease.Options{
		Default: lease.ServiceConfig{Layout: shardLayout(bits), Plain: true}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	listed, err := server.List(ctx, "", lease.ListOptions{})
	return listed.Leases, err
}

// snapshot is a [lease.Store] to read a page.
type snapshot struct {
	page *page
	now  time.Time
}

// Update implements [lease.Store]; it stores nothing.
func (s snapshot) Update(_ context.Context, _ string, fn func(lease.Tx) error) error {
	return fn(&transaction{now: s.now, pairs: s.page.pairs})
}
