// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// startRead returns the running read of a key, or starts one.
func (w *Worker) startRead(key string, revision int64) (r *read, started bool) {
	all := &w.keys.reads
	all.mu.Lock()
	defer all.mu.Unlock()
	if r := all.byKey[key]; r != nil {
		return r, false
	}
	r = &read{revision: revision, done: make(chan struct{})}
	if all.closed {
		r.err = store.ErrClosed
		close(r.done)
		return r, true
	}
	if all.byKey == nil {
		all.byKey = map[string]*read{}
	}
	all.byKey[key] = r
	all.all.Add(1)
	go w.runRead(key, r)
	return r, true
}

// runRead reads, within the time limit of a request.
func (w *Worker) runRead(key string, r *read) {
	all := &w.keys.reads
	defer all.all.Done()
	defer func() {
		if p := recover(); p != nil {
			w.options.Logger.Error("idbuilder: panic", "panic", p, "key", key, "stack", string(debug.Stack()))
			r.err = api.Errorf(api.Internal, "internal error in the configuration of %q", key)
		}
		all.mu.Lock()
		delete(all.byKey, key)
		all.mu.Unlock()
		close(r.done)
	}()
	ctx, cancel := context.WithTimeout(w.life, w.options.Timeout)
	defer cancel()
	r.entry, r.state, r.err = w.readKey(ctx, key, r.revision)
}

// awaitRead returns the key as a read finds it that is not older than a revision.
func (w *Worker) awaitRead(ctx context.Context, key string, revision int64) (*keyEntry, *keyState, error) {
	for last := false; ; last = true {
		r, started := w.startRead(key, revision)
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("idbuilder: configuration %q: %w", key, ctx.Err())
		}
		switch {
		case r.err == nil && r.revision >= revision:
			return r.entry, r.state, nil
		case started || last && r.err != nil:
			return nil, nil, r.err
		}
		// The read began before this call: it may have missed what was stored in between.
	}
}

// readKey reads the configuration of a key. There is one call for a key at a time.
func (w *Worker) readKey(ctx context.Context, key string, revision int64) (*keyEntry, *keyState, error) {
	begun := time.Now()
	c, err := w.readConfig(ctx, key)
	if err != nil {
		if apiErr := (*api.Error)(nil); errors.As(err, &apiErr) && apiErr.Code == api.NotFound {
			w.keys.entries.Delete(key)
		}
		return nil, nil, err
	}
	found, _ := w.keys.entries.LoadOrStore(key, &keyEntry{key: key})
	e := found.(*keyEntry)
	s, err := w.stateOf(c, e.state.Load())
	if err != nil {
		return nil, nil, err
	}
	s.revision, s.read = revision, begun
	e.used.Store(begun.Unix())
	e.state.Store(s)
	return e, s, nil
}

// maxAge is how long a worker uses a configuration without reading it again, even if the
// revision stays the same: a process that crashes between a change and its announcement
// leaves the revision as it was. After half of this time a request starts a read in the
// background.
const maxAge = time.Minute

// reads are the running reads of configurations, at most one of each key. The read goes on
// if the caller that started it leaves: others may wait for it.
type reads struct {
	mu     sync.Mutex
	byKey  map[string]*read
	closed bool
	all    sync.WaitGroup
}

// read is a read of a configuration.
type read struct {
	revision int64         // that the store had before the read began
	done     chan struct{} // closed when the read has ended
	// Set before done is closed:
	entry *keyEntry
	state *keyState
	err   error
}

// closeReads makes later reads fail, and waits for the running ones.
func (r *reads) closeReads() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.all.Wait()
}
