// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// Names are the named leases in one directory of a database: locks, elections,
// whatever one process at a time may do. It is safe for concurrent use.
type Names struct {
	db   kv.Database
	path []string
	dirs *directory.Cache
}

// NewNames returns the names in the directory of db at path in a layer. All programs that
// share names use the same. A nil layer is directory.Root(), no path is kazahana/names.
// Nothing is read or written: the first claim creates the directory.
func NewNames(db kv.Database, layer *directory.Layer, path ...string) (*Names, error) {
	if db == nil {
		return nil, errors.New("leasefdb: the database of the names is nil")
	}
	if len(path) == 0 {
		path = []string{"kazahana", "names"}
	}
	dirs, err := newCache(db, layer)
	if err != nil {
		return nil, err
	}
	return &Names{db: db, path: path, dirs: dirs}, nil
}

// newCache returns a cache of the directories of a layer; nil means directory.Root().
func newCache(db kv.Database, layer *directory.Layer) (*directory.Cache, error) {
	if layer == nil {
		layer = directory.Root()
	}
	return directory.NewCache(layer, db, directory.CacheOptions{})
}

// maxName keeps the keys of a name within their limit, and those of others
// readable.
const maxName = 1024

func checkText(what, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("leasefdb: the %s is empty", what)
	case len(text) > maxName:
		return fmt.Errorf("leasefdb: the %s has %d bytes; at most %d are possible", what, len(text), maxName)
	case !utf8.ValidString(text):
		return fmt.Errorf("leasefdb: the %s is not valid UTF-8", what)
	}
	return nil
}

// newRequestID returns a request id that no other claim has.
func newRequestID() string { return rand.Text() }

// Acquire claims a name and waits until it gets it: at once if it is free, soon
// after the holder has released it, and once the holder has not renewed it for
// as long as its lease lasts. The lease is then renewed until [Lease.Release].
// ctx bounds the waiting, not the lease.
//
// If ctx ends while a claim is under way, the error wraps
// [kv.ErrOutcomeUnknown]: the name may then be held without being renewed.
func (n *Names) Acquire(ctx context.Context, name string, c Claim) (*Lease, error) {
	c = c.withDefaults()
	for {
		lease, err := n.TryAcquire(ctx, name, c)
		var held *heldError
		if !errors.As(err, &held) {
			return lease, err
		}
		c.Seen = c.Seen.Observe(held.state, time.Now())
		if err := n.awaitChange(ctx, held, c.Seen); err != nil {
			return nil, fmt.Errorf("leasefdb: gave up waiting for %q, which is held by %q: %w", name, held.state.Holder, err)
		}
	}
}

// TryAcquire is [Names.Acquire] that does not wait: if the name is another's,
// the error is an [ErrHeld]; see [HeldBy].
func (n *Names) TryAcquire(ctx context.Context, name string, c Claim) (*Lease, error) {
	g, err := n.Claim(ctx, n.db, name, c)
	if err != nil {
		return nil, err
	}
	return n.Keep(ctx, g), nil
}

// awaitChange waits until a held name may be free: its fence key changes, or the
// observed lease has lapsed, if it was not renewed since.
func (n *Names) awaitChange(ctx context.Context, held *heldError, seen Observation) error {
	lapse := time.NewTimer(seen.Remaining(time.Now()))
	defer lapse.Stop()
	w, changed, err := watch(ctx, n.db, held.fence, held.state.encode())
	if err != nil || changed {
		return err
	}
	defer func() { w.Cancel() }()
	for {
		select {
		case <-w.Done():
			if _, failed := w.Get(ctx); failed == nil {
				return nil
			}
			w = neverWatch() // the lease will lapse all the same
		case <-lapse.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// watch watches a key for another value than the one given; changed says that
// it has one already. Where no watch can be had, because there are too many for
// instance, it is one that never fires: watches only save time.
func watch(ctx context.Context, db kv.Database, key, value []byte) (w kv.Future[struct{}], changed bool, err error) {
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		found, err := tx.Get(key).Get(ctx)
		if err != nil {
			return err
		}
		if changed = !bytes.Equal(found, value); !changed {
			w = tx.Watch(key)
		}
		return nil
	})
	if code := kv.CodeOf(err); code == kv.CodeTooManyWatches || code == kv.CodeWatchesDisabled {
		return neverWatch(), false, nil
	}
	return w, changed, err
}

// neverWatch is a watch that never fires.
func neverWatch() kv.Future[struct{}] { return kv.NewPromise[struct{}]().Future() }

// Keep renews a grant until it is released or lost. Values of ctx are kept, its
// end is not. End it with [Lease.Release].
func (n *Names) Keep(ctx context.Context, g Grant) *Lease {
	l := &Lease{names: n, grant: g, ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if g.keys.fence == nil {
		l.cancel(errNoGrant)
		close(l.ended)
		return l
	}
	l.lapse = time.AfterFunc(time.Until(g.Deadline()), func() { l.cancel(lapseError(g, nil)) })
	go l.keepRenewing()
	return l
}

// Watch returns the state of a name and a watch that becomes ready when the state has
// changed: when the name was claimed, renewed, given back or taken over. It may
// also become ready without a change, and fails where no watch can be had: see
// [kv.Transaction.Watch]. Cancel it when it is no longer needed. Given a
// transaction, the watch is armed by its commit. The directory of the names is
// created if there is none.
func (n *Names) Watch(ctx context.Context, t kv.Transactor, name string) (s State, w kv.Future[struct{}], err error) {
	if err := checkText("name", name); err != nil {
		return s, w, err
	}
	err = t.Transact(ctx, func(tx kv.Transaction) error {
		d, err := n.dirs.CreateOrOpen(ctx, tx, n.path)
		if err != nil {
			return err
		}
		k, err := keysOf(d, name)
		if err != nil {
			return err
		}
		w = tx.Watch(k.renewal)
		s, err = k.readState(ctx, tx, name)
		return err
	})
	return s, w, err
}

// Claim claims a name once. If it is another's the error is an [ErrHeld]; see [HeldBy]
// and [Claim.Seen]. Each grant has a greater epoch than all grants before it, even
// after releases; epochs are never used again.
//
// Given a database, the claim is a transaction of its own. Given a transaction,
// it becomes a part of that: the grant is good once it has committed. One round
// of reads, two writes.
func (n *Names) Claim(ctx context.Context, t kv.Transactor, name string, c Claim) (Grant, error) {
	if _, own := t.(kv.Database); !own && c.RequestID == "" {
		return Grant{}, errors.New("leasefdb: a claim in a transaction needs a RequestID, made before its first attempt")
	}
	c = c.withDefaults()
	if err := errors.Join(checkText("name", name), c.Validate()); err != nil {
		return Grant{}, err
	}
	began := time.Now()
	g, err := kv.Transact(ctx, t, func(tx kv.Transaction) (Grant, error) { return n.claimIn(ctx, tx, name, c) })
	if err != nil {
		return Grant{}, err
	}
	g.began = began
	return g, nil
}

func (n *Names) claimIn(ctx context.Context, tx kv.Transaction, name string, c Claim) (Grant, error) {
	d, err := n.dirs.CreateOrOpen(ctx, tx, n.path)
	if err != nil {
		return Grant{}, err
	}
	k, err := keysOf(d, name)
	if err != nil {
		return Grant{}, err
	}
	state, err := k.readState(ctx, tx, name)
	if err != nil {
		return Grant{}, err
	}
	granted := state.Held() && state.Request == c.RequestID && state.Holder == c.Holder
	switch {
	case granted:
	case state.Held() && !c.Seen.allowsTakeover(state):
		return Grant{}, &heldError{state, k.fence}
	default:
		state.Epoch++
		state.Holder, state.Request, state.Duration = c.Holder, c.RequestID, c.Duration
		tx.Set(k.fence, state.encode())
	}
	k.countChange(tx) // observers of the name begin anew
	return Grant{Name: name, Holder: state.Holder, Epoch: state.Epoch, Duration: state.Duration, keys: k, value: state.encode()}, nil
}

// Break takes the name from its holder, if that holds it under the epoch, and
// otherwise does nothing. An operator calls it for a holder that has ended,
// instead of waiting. A holder that still runs finds out by its watch, when it
// renews, and when it checks.
func (n *Names) Break(ctx context.Context, t kv.Transactor, name string, epoch int64) error {
	_, err := n.breakIf(ctx, t, name, func(s State) bool { return s.Epoch == epoch })
	return err
}

// BreakLapsed takes the name from the holder that was observed, if its lease
// has lapsed and has not been renewed since, and reports whether it did. It
// serves programs that watch holders and do not want the name themselves. The
// epoch is kept. A renewal that commits first prevents it; one that comes later
// fails with a *[LostError]. Given a transaction, the name is free once that
// has committed. In a retry after an unknown outcome it reports false if the
// attempt before has committed.
func (n *Names) BreakLapsed(ctx context.Context, t kv.Transactor, name string, seen Observation) (bool, error) {
	return n.breakIf(ctx, t, name, seen.allowsTakeover)
}

// breakIf takes the name from its holder if the condition allows it.
func (n *Names) breakIf(ctx context.Context, t kv.Transactor, name string, allowed func(State) bool) (bool, error) {
	if err := checkText("name", name); err != nil {
		return false, err
	}
	return kv.Transact(ctx, t, func(tx kv.Transaction) (bool, error) {
		k, err := n.openKeys(ctx, tx, name)
		if err != nil || k.fence == nil {
			return false, err
		}
		state, err := k.readState(ctx, tx, name)
		if err != nil || !state.Held() || !allowed(state) {
			return false, err
		}
		k.freeName(tx, state.Epoch)
		return true, nil
	})
}

// Holder returns the state of a name without the Revision; see [Names.Get]. It
// reads the fence key alone. So, given a transaction that writes, it conflicts
// with a change of the holder and not with renewals.
func (n *Names) Holder(ctx context.Context, t kv.ReadTransactor, name string) (State, error) {
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (State, error) {
		return n.StartHolder(ctx, tx, name)(ctx)
	})
}

// StartHolder begins [Names.Holder], so that other reads of tx share its round. The function
// that it returns waits for the state and returns it. It may be called several times.
func (n *Names) StartHolder(ctx context.Context, tx kv.ReadTransaction, name string) (wait func(context.Context) (State, error)) {
	k, err := n.openKeys(ctx, tx, name)
	read := kv.Resolved[[]byte](nil, err)
	if err == nil && k.fence != nil {
		read = tx.Get(k.fence)
	}
	return func(ctx context.Context) (State, error) {
		value, err := read.Get(ctx)
		if err != nil {
			return State{}, err
		}
		return decodeState(name, k.fence, value, nil)
	}
}

// States returns the states of several names, in their order, in one round of reads:
// see [Names.Get]. If some cannot be read it returns the zero State for each of them, the states
// of the others, and their errors, each an [ErrState], joined.
func (n *Names) States(ctx context.Context, t kv.ReadTransactor, names ...string) ([]State, error) {
	var unread []error
	states, err := kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) ([]State, error) {
		unread = nil
		states, reads := make([]State, len(names)), make([]nameRead, len(names))
		for i, name := range names {
			k, err := n.openKeys(ctx, tx, name)
			if err != nil {
				return nil, err
			}
			reads[i] = k.startRead(tx)
		}
		for i, name := range names {
			state, err := reads[i].wait(ctx, name)
			switch {
			case err == nil:
				states[i] = state
			case errors.Is(err, ErrState):
				unread = append(unread, err)
			default:
				return nil, err
			}
		}
		return states, nil
	})
	if err != nil {
		return nil, err
	}
	return states, errors.Join(unread...)
}

// openKeys returns the keys of a name, none if the directory does not exist.
func (n *Names) openKeys(ctx context.Context, tx kv.ReadTransaction, name string) (keys, error) {
	if err := checkText("name", name); err != nil {
		return keys{}, err
	}
	d, err := n.dirs.OpenRead(ctx, tx, n.path)
	if errors.Is(err, directory.ErrNotFound) {
		return keys{}, nil
	}
	if err != nil {
		return keys{}, err
	}
	return keysOf(d, name)
}

// Get returns the state of a name, that of one that was never held if there is
// none. Given a transaction that writes, it conflicts with every change of the
// state, renewals included.
func (n *Names) Get(ctx context.Context, t kv.ReadTransactor, name string) (State, error) {
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (State, error) {
		k, err := n.openKeys(ctx, tx, name)
		if err != nil {
			return State{}, err
		}
		return k.readState(ctx, tx, name)
	})
}
