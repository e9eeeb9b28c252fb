// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

const (
	// atOnce is how many steps a read takes while the transaction is locked; one
	// that is known to need more gives up after atOnceIfFar.
	atOnce      = 4096
	atOnceIfFar = 64
)

// answer makes a read over own writes and what the database holds: at once if the
// view is in memory and the read is short, else by a goroutine, with the own writes
// and the version of now. walk reads, with t.mu held or not; note takes what was read
// into the transaction, with t.mu held. long says that many steps are likely. t.mu is
// held.
//
// A read that is made at once keeps t.mu: it walks over the own writes and the known
// keys in place. A copy would make each write that follows copy nodes of the map.
func answer[A, T any](t *Transaction, snapshot, long bool, walk func(*overlay) (A, error), note func(*overlay, A) (T, error)) kv.Future[T] {
	s := newOverlay(t, snapshot)
	s.budget.Most = atOnce
	if long {
		s.budget.Most = atOnceIfFar
	}
	a, err := walkToEnd(s, walk)
	if err == rangeread.ErrNotAtHand {
		return answerLater(t, s, snapshot, walk, note)
	}
	return kv.Resolved(noteRead(t, s, a, err, note))
}

// answerLater lets a goroutine make a read that could not be made at once.
func answerLater[A, T any](t *Transaction, s *overlay, snapshot bool, walk func(*overlay) (A, error), note func(*overlay, A) (T, error)) kv.Future[T] {
	v, err := t.currentView()
	if err != nil {
		var none T
		return kv.Resolved(none, t.keepReadError(err))
	}
	s.restartDetached(v, snapshot)
	var a A
	read := func(quit *atomic.Bool) {
		s.budget.Abandon = quit
		a, err = walkToEnd(s, walk)
	}
	return startRead(t, read, func() (T, error) { return noteRead(t, s, a, err, note) })
}

// walkToEnd walks and releases what the walk has held.
func walkToEnd[A any](s *overlay, walk func(*overlay) (A, error)) (A, error) {
	a, err := walk(s)
	if closed := s.close(); closed != nil && (err == nil || closed == rangeread.ErrNotAtHand) {
		err = closed
	}
	return a, err
}

// noteRead takes a read that has ended into the transaction. A read that met an
// unreadable key has told what lies before it: FoundationDB's client caches each
// reply as it arrives. t.mu is held.
func noteRead[A, T any](t *Transaction, s *overlay, a A, err error, note func(*overlay, A) (T, error)) (result T, _ error) {
	if err == nil || kv.CodeOf(err) == kv.CodeAccessedUnreadable {
		t.addKnownFrom(s)
	}
	if err == nil {
		result, err = note(s, a)
	}
	if err != nil {
		var none T
		return none, t.keepReadError(err)
	}
	return result, nil
}
