// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
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

// decodeState reads the values of the fence key and of the renewal key, as DecodeState does.
func decodeState(name string, key, fence, renewal []byte) (State, error) {
	s, err := DecodeState(name, fence, renewal)
	if err == nil {
		return s, nil
	}
	if !errors.Is(err, newer.Err) {
		err = fmt.Errorf("the value is damaged: restore it from a backup, so that its epochs go on: %w", err)
	}
	return s, fmt.Errorf("%w: lease %q at key %x: %w", ErrState, name, key, err)
}

// DecodeState reads what the directory of named leases holds of a name: the values of the
// fence key ("F", name) and of the renewal key ("N", name); nil is an absent key. Errors say
// what is wrong with the value, and not where it is.
func DecodeState(name string, fence, renewal []byte) (State, error) {
	s := State{Name: name}
	if fence == nil {
		return s, nil
	}
	if err := s.decode(fence); err != nil {
		return s, err
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

// Observe returns the observation after another look, which ended now and showed
// state. now is a reading of [time.Now], or of the caller's monotonic clock.
func (o Observation) Observe(state State, now time.Time) Observation {
	if !o.since.IsZero() && o.isSame(state) {
		return o
	}
	return Observation{state, now}
}

// Remaining returns how long the state must not change from now on until the lease
// has lapsed; 0 or less if it has.
func (o Observation) Remaining(now time.Time) time.Duration {
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
	return !o.since.IsZero() && o.isSame(state) && o.Remaining(time.Now()) <= 0
}

// keys are those of one name. The fence key names the holder and is written
// only when that changes; the renewal key counts. So a renewal does not
// conflict with the transactions of the holder, which read the fence key.
type keys struct{ fence, renewal []byte }

// Letters of the keys in the directory: (letter, name).
const (
	letterFence   = "F"
	letterRenewal = "N"
)

func keysOf(d *directory.Directory, name string) (k keys, err error) {
	prefix, err := d.Prefix()
	if err != nil {
		return k, err
	}
	key := func(letter string) []byte {
		b := append(make([]byte, 0, len(prefix)+len(name)+8), prefix...)
		return tuple.AppendString(tuple.AppendString(b, letter), name)
	}
	return keys{fence: key(letterFence), renewal: key(letterRenewal)}, nil
}

// readState reads both keys in one round.
func (k keys) readState(ctx context.Context, tx kv.ReadTransaction, name string) (State, error) {
	return k.startRead(tx).wait(ctx, name)
}

// startRead begins to read both keys; those of no directory have no values.
func (k keys) startRead(tx kv.ReadTransaction) nameRead {
	if k.fence == nil {
		return nameRead{}
	}
	return nameRead{k.fence, tx.Get(k.fence), tx.Get(k.renewal)}
}

// countChange counts a grant, a renewal or a return of the name. It reads nothing.
func (k keys) countChange(tx kv.Transaction) { tx.Atomic(kv.Add, k.renewal, kv.Int64(1)) }

// freeName frees the name and keeps the epoch. It counts, so that every change of a
// name shows in its renewal key.
func (k keys) freeName(tx kv.Transaction, epoch int64) {
	tx.Set(k.fence, State{Epoch: epoch}.encode())
	k.countChange(tx)
}

// nameRead is a read of both keys of a name that has begun.
type nameRead struct {
	key            []byte
	fence, renewal kv.Future[[]byte]
}

func (r nameRead) wait(ctx context.Context, name string) (State, error) {
	value, err := r.fence.Get(ctx)
	if err != nil {
		return State{}, err
	}
	count, err := r.renewal.Get(ctx)
	if err != nil {
		return State{}, err
	}
	return decodeState(name, r.key, value, count)
}

var (
	// ErrLeaseLost: a lease is no longer its holder's. It is the cause of the
	// end of [Lease.Context], and comes as a *[LostError].
	ErrLeaseLost = errors.New("leasefdb: the lease is lost")
	// ErrHeld: the name is another holder's. [HeldBy] tells more.
	ErrHeld = errors.New("leasefdb: the lease is held by another")
	// ErrState: the stored state of a name is damaged or, if the error is a
	// lease.ErrNewer, too, a newer version wrote it.
	ErrState = errors.New("leasefdb: the stored state cannot be used")
	// ErrReleased is the cause of the end of [Lease.Context] after
	// [Lease.Release].
	ErrReleased = errors.New("leasefdb: the lease was released")
)

// LostError says why a lease is no longer its holder's. It is an
// [ErrLeaseLost]. It is not retryable: the attempt of a transaction that checks the
// lease changed nothing.
type LostError struct {
	Name   string // of the lease, quoted, or the machine id
	Epoch  int64  // under which it was held; 0 for a machine id
	Reason string // what was found instead
	Err    error  // the cause, if any
}

// Error implements error.
func (e *LostError) Error() string {
	if e.Epoch == 0 {
		return fmt.Sprintf("%v: %s: %s", ErrLeaseLost, e.Name, e.Reason)
	}
	return fmt.Sprintf("%v: %s under epoch %d: %s", ErrLeaseLost, e.Name, e.Epoch, e.Reason)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrLeaseLost].
func (e *LostError) Is(target error) bool { return target == ErrLeaseLost }

// heldError is an [ErrHeld].
type heldError struct {
	state State
	fence []byte // the key that changes when the name may be free
}

// Error implements error.
func (e *heldError) Error() string {
	return fmt.Sprintf("%v: %q is held by %q under epoch %d", ErrHeld, e.state.Name, e.state.Holder, e.state.Epoch)
}

// Unwrap returns [ErrHeld].
func (e *heldError) Unwrap() error { return ErrHeld }

// HeldBy returns the state of the name that an [ErrHeld] is about: its holder, the duration of
// the lease, and what to observe until it may be taken over. It reports false for other errors.
func HeldBy(err error) (State, bool) {
	var held *heldError
	if !errors.As(err, &held) {
		return State{}, false
	}
	return held.state, true
}

// lostTo returns the error of a holder that finds another state.
func lostTo(g Grant, now State) *LostError {
	reason := "nothing is stored of it any more: its directory was removed"
	switch {
	case now.Epoch == g.Epoch && now.Holder == "":
		reason = "it was released"
	case now.Holder == "" && now.Epoch > 0:
		reason = fmt.Sprintf("others have held it since, up to epoch %d", now.Epoch)
	case now.Epoch > 0:
		reason = fmt.Sprintf("it is held by %q under epoch %d", now.Holder, now.Epoch)
	}
	return &LostError{Name: fmt.Sprintf("%q", g.Name), Epoch: g.Epoch, Reason: reason}
}

// lapseError is the cause of a context that ends at its deadline.
func lapseError(g Grant, last error) *LostError {
	reason := fmt.Sprintf("it was not renewed within %v, so others may take it over", g.Duration.Round(time.Millisecond))
	if last != nil {
		reason = "it cannot be renewed any more: " + last.Error()
	}
	return &LostError{Name: fmt.Sprintf("%q", g.Name), Epoch: g.Epoch, Reason: reason, Err: last}
}
