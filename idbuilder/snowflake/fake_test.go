// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// memory is a store of documents in memory, with faults.
type memory struct {
	store.Store // nil: what is not implemented panics

	mu      sync.Mutex
	version int64
	docs    map[string]store.Document
	puts    int
	// fault is asked before each Put: lose leaves it undone, unknown does it; both
	// return errFault.
	fault func(doc store.Document) (lose, unknown bool)
}

var errFault = errors.New("the connection was lost")

func newMemory() *memory { return &memory{docs: map[string]store.Document{}} }

// shaky returns faults for a part of the calls.
func shaky(r *rand.Rand, part float64) func(store.Document) (lose, unknown bool) {
	return func(store.Document) (bool, bool) {
		x := r.Float64()
		return x < part, x >= part && x < 2*part
	}
}

func (m *memory) Get(ctx context.Context, _ store.Kind, key string) (store.Document, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	doc, ok := m.docs[key]
	if !ok {
		return store.Document{}, store.ErrNotFound
	}
	return doc, ctx.Err()
}

func (m *memory) Put(ctx context.Context, _ store.Kind, d store.Document) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lose, unknown := false, false
	if m.fault != nil {
		lose, unknown = m.fault(d)
	}
	if lose || ctx.Err() != nil {
		return 0, errors.Join(errFault, ctx.Err())
	}
	if m.docs[d.Key].Version != d.Version {
		return 0, store.ErrConflict
	}
	m.version++
	m.puts++
	d.Version, d.Value = m.version, slices.Clone(d.Value)
	m.docs[d.Key] = d
	if unknown {
		return 0, errFault
	}
	return d.Version, nil
}

func (m *memory) List(_ context.Context, _ store.Kind, o store.ListOptions) (docs []store.Document, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, doc := range m.docs {
		if strings.HasPrefix(key, o.Prefix) && key > o.After {
			docs = append(docs, doc)
		}
	}
	slices.SortFunc(docs, func(a, b store.Document) int { return strings.Compare(a.Key, b.Key) })
	return docs[:min(len(docs), o.Limit)], nil
}
