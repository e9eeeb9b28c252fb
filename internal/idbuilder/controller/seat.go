// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/internal/uptime"
)

// seat is a campaign for a document, by compare-and-set. The leader replaces the
// document three times in a lease. A candidate takes the document over when it has seen it
// unchanged for the length of a lease, by its own monotonic clock. The leader gives
// up when it has not replaced the document for four fifths of a lease, counted from before
// the last replacement began. That is before any candidate takes over, as long as no
// clock runs a fifth faster than another. Even so, two leaders must do no harm: a process
// can be stopped after it has read its clock and before it acts.
type seat struct {
	store store.Store
	lease time.Duration
	self  string // random
	clock uptime.Clock
}

// seatKey is the document's.
const seatKey = "leader"

// holder is the document's value.
type holder struct {
	Holder string `json:"holder"` // a controller; "" if it is vacant
	Term   int64  `json:"term"`   // greater for each later leader
}

// errDeposed ends the context of a leader.
var errDeposed = errors.New("controller: the lease on leadership was lost")

func newSeat(s store.Store, lease time.Duration) *seat {
	return &seat{store: s, lease: lease, self: rand.Text(), clock: uptime.New()}
}

func (s *seat) now() time.Duration { return s.clock.Elapsed(time.Now()) }

func (s *seat) run(ctx context.Context, lead func(context.Context) error) error {
	for {
		t, err := s.awaitLeadership(ctx)
		if err != nil {
			return err
		}
		if err := s.leadUntilLost(ctx, t, lead); ctx.Err() != nil {
			return err
		}
	}
}

// term is a time of leadership.
type term struct {
	doc   store.Document // as this leader last stored it
	value holder
	begun time.Duration // when it began to do so
}

// awaitLeadership waits until this controller is the leader.
func (s *seat) awaitLeadership(ctx context.Context) (t term, err error) {
	var version int64
	var since time.Duration
	for {
		doc, value, err := s.readHolder(ctx)
		switch {
		case err != nil: // look again
		case value.Holder == "" || value.Holder == s.self || doc.Version == version && s.now()-since >= s.lease:
			t = term{doc: doc, value: holder{Holder: s.self, Term: value.Term + 1}}
			if err := s.putTerm(ctx, &t); err == nil {
				return t, nil
			}
		case doc.Version != version:
			version, since = doc.Version, s.now()
		}
		if err := sleep.For(ctx, s.lease/6); err != nil {
			return t, err
		}
	}
}

// readHolder reads the document. If there is none, the seat is vacant.
func (s *seat) readHolder(ctx context.Context) (doc store.Document, value holder, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.lease/3)
	defer cancel()
	doc, err = s.store.Get(ctx, store.Workers, seatKey)
	if errors.Is(err, store.ErrNotFound) {
		return store.Document{Key: seatKey}, holder{}, nil
	}
	if err == nil {
		if err = json.Unmarshal(doc.Value, &value); err != nil {
			err = &store.CorruptError{Where: fmt.Sprintf("%s %q", store.Workers, seatKey), Reason: "it is not what a controller wrote", Err: err}
		}
	}
	return doc, value, err
}

// putTerm stores the document of a term.
func (s *seat) putTerm(ctx context.Context, t *term) error {
	ctx, cancel := context.WithTimeout(ctx, s.lease/3)
	defer cancel()
	begun := s.now()
	value, err := json.Marshal(t.value)
	if err != nil {
		return err
	}
	doc := t.doc
	doc.Value = value
	if doc.Version, err = s.store.Put(ctx, store.Workers, doc); err != nil {
		return err
	}
	t.doc, t.begun = doc, begun
	return nil
}

// leadUntilLost calls lead and renews the term until lead returns or the term is lost.
func (s *seat) leadUntilLost(ctx context.Context, t term, lead func(context.Context) error) error {
	leading, depose := context.WithCancelCause(ctx)
	defer depose(nil)
	keeping, stop := context.WithCancel(ctx) // until lead returns
	result := make(chan error, 1)
	go func() {
		defer stop()
		result <- lead(leading)
	}()
	lost := s.keepRenewing(keeping, &t, depose)
	depose(errDeposed)
	err := <-result
	if !lost {
		s.vacateSeat(ctx, t)
	}
	return err
}

// keepRenewing renews the term until ctx ends or the term is lost, and reports the latter.
// It calls depose at the end of the term, even while the store does not answer.
func (s *seat) keepRenewing(ctx context.Context, t *term, depose func(error)) (lost bool) {
	for {
		left := t.begun + s.lease*4/5 - s.now()
		end := time.AfterFunc(left, func() { depose(errDeposed) })
		err := s.extendTerm(ctx, t, left)
		end.Stop()
		if ctx.Err() != nil || err != nil {
			return ctx.Err() == nil
		}
	}
}

// extendTerm renews the term within its remaining time.
func (s *seat) extendTerm(ctx context.Context, t *term, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	end := s.now() + left
	for wait := s.lease / 3; ; wait = s.lease / 15 {
		if err := sleep.For(ctx, wait); err != nil {
			return err
		}
		if s.now() >= end {
			return errDeposed // the machine slept
		}
		if err := s.renewTerm(ctx, t); err == nil || isConflict(err) {
			return err
		}
	}
}

// renewTerm replaces the document. An earlier attempt with an unknown outcome may have
// replaced it already.
func (s *seat) renewTerm(ctx context.Context, t *term) error {
	err := s.putTerm(ctx, t)
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	doc, value, lookErr := s.readHolder(ctx)
	if lookErr != nil {
		return lookErr
	}
	if value != t.value {
		return err
	}
	t.doc = doc
	return s.putTerm(ctx, t)
}

// vacateTime bounds how long the end of a controller waits for a store that does not answer.
const vacateTime = 5 * time.Second

// vacateSeat lets another controller lead at once. ctx may have ended.
func (s *seat) vacateSeat(ctx context.Context, t term) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), vacateTime)
	defer cancel()
	t.value.Holder = ""
	_ = s.putTerm(ctx, &t) // otherwise the seat is vacant when the lease has ended
}
