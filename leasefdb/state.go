// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/tuple"
)

// State is what the database knows of a name.
type State struct {
	Name     string
	Holder   string        // empty: there is none
	Epoch    int64         // of the last grant; 0 if there was none
	Request  string        // the RequestID of that grant
	Duration time.Duration // of the grant; the holder renews it more often
	Revision int64         // how often it was granted, renewed and given back, ever
}

// Held reports whether the name has a holder: a claim got it that has neither
// released it nor lost it to another claim. The state does not tell whether the
// holder is alive; see [Observation].
func (s State) Held() bool { return s.Holder != "" }

// stateFormat is the first element of a fence key's value.
const stateFormat = 1

// encode returns the value of the fence key: (format, epoch, owner, request,
// nanoseconds).
func (s State) encode() []byte {
	b := tuple.AppendInt(nil, stateFormat)
	b = tuple.AppendInt(b, s.Epoch)
	b = tuple.AppendString(b, s.Holder)
	b = tuple.AppendString(b, s.Request)
	return tuple.AppendInt(b, int64(s.Duration))
}

// decodeState reads the values of the fence key and of the renewal key; nil is
// an absent key.
func decodeState(name string, key, fence, renewal []byte) (State, error) {
	s := State{Name: name}
	if fence == nil {
		return s, nil
	}
	if err := s.decode(fence); err != nil {
		e := &StateError{Name: name, Key: key, Reason: "the value is damaged: restore it from a backup, so that its epochs go on", Err: err}
		if errors.Is(err, newer.Err) {
			e.Reason = "the value cannot be used"
		}
		return s, e
	}
	if len(renewal) == 8 {
		s.Revision = int64(binary.LittleEndian.Uint64(renewal))
	}
	return s, nil
}

func (s *State) decode(b []byte) (err error) {
	if b, err = newer.ReadFormat(b, stateFormat); err != nil {
		return err
	}
	if s.Epoch, b, err = tuple.ReadInt(b); err != nil {
		return err
	}
	if s.Holder, b, err = tuple.ReadString(b); err != nil {
		return err
	}
	if s.Request, b, err = tuple.ReadString(b); err != nil {
		return err
	}
	duration, b, err := tuple.ReadInt(b)
	if err != nil {
		return err
	}
	s.Duration = time.Duration(duration)
	if len(b) > 0 || s.Epoch < 1 || s.Held() && s.Duration <= 0 {
		return fmt.Errorf("epoch %d, holder %q, duration %v and %d further bytes make no state", s.Epoch, s.Holder, s.Duration, len(b))
	}
	return nil
}

// Observation is a held lease as another process sees it: its state, and since
// when it has not changed, on the monotonic clock of the observer. The holder
// of a lease that was not renewed for its whole duration is dead, or knows that
// it may have lost the lease. No two clocks are compared. The zero Observation
// has seen nothing.
type Observation struct {
	state State
	since time.Time
}

// Observe returns the observation after another look, which ended just now and
// showed state.
func (o Observation) Observe(state State) Observation { return o.ObserveAt(state, time.Now()) }

// ObserveAt is [Observation.Observe] for a look that ended at a time.
func (o Observation) ObserveAt(state State, now time.Time) Observation {
	if !o.since.IsZero() && o.isSame(state) {
		return o
	}
	return Observation{state, now}
}

// Remaining returns how long the state must not change from now on until the lease
// has lapsed; 0 or less if it has.
func (o Observation) Remaining() time.Duration { return o.RemainingAt(time.Now()) }

// RemainingAt is [Observation.Remaining] at a time.
func (o Observation) RemainingAt(now time.Time) time.Duration {
	return o.state.Duration - now.Sub(o.since)
}

// State returns the state that was observed.
func (o Observation) State() State { return o.state }

// isSame reports whether state is the one observed: granted and renewed as often.
func (o Observation) isSame(state State) bool {
	return o.state.Epoch == state.Epoch && o.state.Revision == state.Revision
}

// allowsTakeover reports whether a lease in that state may be taken over.
func (o Observation) allowsTakeover(state State) bool {
	return !o.since.IsZero() && o.isSame(state) && o.Remaining() <= 0
}
