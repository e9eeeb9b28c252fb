// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// Documents returns a store of documents and a revision in memory, without goroutines and
// without time, so that a test in a bubble of [testing/synctest] can use it. It has
// no sequences: their methods panic.
func Documents() store.Store { return &documents{docs: map[documentKey]store.Document{}} }

type documents struct {
	store.Store // nil

	mu       sync.Mutex
	version  int64
	revision int64
	docs     map[documentKey]store.Document
}

type documentKey struct {
	kind store.Kind
	key  string
}

func (d *documents) Init(ctx context.Context) error { return ctx.Err() }

func (d *documents) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc, ok := d.docs[documentKey{kind, key}]
	if !ok && ctx.Err() == nil {
		return doc, store.ErrNotFound
	}
	doc.Value = slices.Clone(doc.Value)
	return doc, ctx.Err()
}

func (d *documents) Put(ctx context.Context, kind store.Kind, doc store.Document) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := documentKey{kind, doc.Key}
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case d.docs[at].Version != doc.Version:
		return 0, store.ErrConflict
	}
	d.version++
	doc.Version, doc.Value = d.version, slices.Clone(doc.Value)
	d.docs[at] = doc
	return doc.Version, nil
}

func (d *documents) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := documentKey{kind, key}
	doc, ok := d.docs[at]
	switch {
	case ctx.Err() != nil || !ok:
		return ctx.Err()
	case doc.Version != version:
		return store.ErrConflict
	}
	d.version++
	delete(d.docs, at)
	return nil
}

func (d *documents) List(ctx context.Context, kind store.Kind, o store.ListOptions) (docs []store.Document, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, doc := range d.docs {
		if at.kind == kind && strings.HasPrefix(at.key, o.Prefix) && at.key > o.After {
			doc.Value = slices.Clone(doc.Value)
			docs = append(docs, doc)
		}
	}
	slices.SortFunc(docs, func(a, b store.Document) int { return strings.Compare(a.Key, b.Key) })
	if o.Limit == 0 {
		o.Limit = 1000
	}
	return docs[:min(len(docs), o.Limit)], ctx.Err()
}

func (d *documents) Revision(ctx context.Context) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.revision, ctx.Err()
}

func (d *documents) Advance(ctx context.Context) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revision++
	return d.revision, ctx.Err()
}

func (d *documents) Ping(ctx context.Context) error { return ctx.Err() }

func (d *documents) Close() error { return nil }

// Memory returns an initialised store in memory, which lives until the test ends.
func Memory(tb testing.TB) store.Store {
	tb.Helper()
	db, err := embedded.OpenMemory()
	if err != nil {
		tb.Fatal(err)
	}
	s, err := kvstore.New(db, kvstore.Options{})
	if err == nil {
		err = s.Init(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// Dump returns the documents of kinds as text, a line for each: kind, key, type, when it
// expires, and value. Without a type, or if it does not expire, there is a hyphen.
func Dump(tb testing.TB, s store.Store, kinds ...store.Kind) string {
	tb.Helper()
	var b strings.Builder
	for _, kind := range kinds {
		all, err := s.List(tb.Context(), kind, store.ListOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		for _, d := range all {
			expires := "-"
			if !d.Expires.IsZero() {
				expires = d.Expires.UTC().Format(time.RFC3339Nano)
			}
			fmt.Fprintf(&b, "%s %s %s %s %s\n", kind, d.Key, cmp.Or(d.Type, "-"), expires, d.Value)
		}
	}
	return b.String()
}

// Load stores the documents that Dump has listed.
func Load(tb testing.TB, s store.Store, dumped string) {
	tb.Helper()
	for line := range strings.Lines(dumped) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 5)
		if len(parts) != 5 {
			tb.Fatalf("%q lists no document", line)
		}
		d := store.Document{Key: parts[1], Type: strings.TrimPrefix(parts[2], "-"), Value: []byte(parts[4])}
		var err error
		if parts[3] != "-" {
			d.Expires, err = time.Parse(time.RFC3339Nano, parts[3])
		}
		if err == nil {
			_, err = s.Put(tb.Context(), store.Kind(parts[0]), d)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}
