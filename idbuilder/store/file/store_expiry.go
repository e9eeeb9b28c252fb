// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// item names a document.
type item struct {
	kind store.Kind
	key  string
}

const (
	// sweepGrace is how long expired documents stay: clocks differ.
	sweepGrace = time.Minute
	// sweepEvery is the number of documents after which a process removes the expired ones
	// that it stored.
	sweepEvery = 16
)

// noteExpiry notes when a stored document expires, and removes others of its kind that
// have expired. The caller has the lock of the kind.
func (s *Store) noteExpiry(kind store.Kind, d store.Document) {
	s.mu.Lock()
	if d.Expires.IsZero() {
		delete(s.due, item{kind, d.Key})
	} else {
		s.due[item{kind, d.Key}] = d.Expires
	}
	var past []item
	if s.puts++; s.puts%sweepEvery == 0 {
		past = s.takeExpired(kind)
	}
	s.mu.Unlock()
	for _, it := range past {
		_ = s.removeExpired(it) // the document is stored; Init removes the others
	}
}

// takeExpired returns the documents of a kind that have expired, and forgets them. The
// caller holds the mutex.
func (s *Store) takeExpired(kind store.Kind) (past []item) {
	for it, at := range s.due {
		if it.kind == kind && s.isPast(at) {
			past = append(past, it)
			delete(s.due, it)
		}
	}
	return past
}

func (s *Store) isPast(at time.Time) bool {
	return !at.IsZero() && s.now().After(at.Add(sweepGrace))
}

// removeExpired removes a document if it has expired. The caller has the lock of the kind.
func (s *Store) removeExpired(it item) error {
	d, err := s.readDocument(s.documentPath(it.kind, it.key), it.key)
	if err != nil || d.Version == 0 || !s.isPast(d.Expires) {
		return err
	}
	return s.eraseDocument(it.kind, d)
}

// sweepAll removes the expired documents that earlier processes have left. A
// document that cannot be removed does no harm: readers check the expiry.
func (s *Store) sweepAll(ctx context.Context) error {
	kinds, err := s.disk.ReadDir(s.path("documents"))
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if store.Kind(kind).Validate() == nil {
			_ = s.underLock(ctx, lockKind+kind, func() error { return s.sweep(ctx, store.Kind(kind)) })
		}
	}
	return s.checkOpen(ctx)
}

func (s *Store) sweep(ctx context.Context, kind store.Kind) error {
	keys, err := s.documentKeys(kind)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.checkOpen(ctx); err != nil {
			return err
		}
		if err := s.removeExpired(item{kind, key}); err != nil {
			return err
		}
	}
	return nil
}
