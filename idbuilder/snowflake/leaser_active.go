// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/lease"
)

// Active returns how many worker ids of the key are leased: those of clients that
// ask again, and those kept for clients that may not.
func (l *Leaser) Active(ctx context.Context, key Key) (int, error) {
	n, _, err := l.countLeases(ctx, prefixOf(key.Name, key.Layout), key.Layout.shardWidth())
	return n, err
}

// countLeases returns the number of leases in the documents with a prefix, and the end of
// the last one.
func (l *Leaser) countLeases(ctx context.Context, prefix string, bits int) (n int, held time.Time, err error) {
	for doc, err := range l.documents.all(ctx, prefix) {
		if err != nil {
			return 0, held, err
		}
		listed, err := l.listLeases(ctx, doc, bits)
		if err != nil {
			return 0, held, err
		}
		n += len(listed)
		for _, info := range listed {
			held = latest(held, info.Expired)
		}
	}
	return n, held, nil
}

// listLeases returns the leases in a document.
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
