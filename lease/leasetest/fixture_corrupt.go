// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// putPair changes the store behind the server's back.
func (f *fixture) putPair(store lease.Store, key, value []byte) {
	f.Helper()
	err := store.Update(f.Context(), lease.DefaultService, func(tx lease.Tx) error {
		if tx.Delete(key); value != nil {
			tx.Set(key, value)
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

// callWithDamage makes all calls and notes which kinds of records were reported.
func (f *fixture) callWithDamage(n *node, key []byte, l idgen.Lease, want error, reported map[byte]bool) {
	f.Helper()
	for _, requestKey := range []string{"", "key"} {
		if err := f.acquireDamaged(n, requestKey, key, want); err != nil {
			reported[key[0]] = true
		}
	}
	if _, err := f.acquireWithin(n, "account", 4, idgen.AcquireRequest{}); !errors.Is(err, lease.ErrBudget) {
		if f.wantCorrupt(err, key, want); key[0] == 'a' {
			reported['a'] = true
		}
	}
	err := n.Release(f.Context(), f.signRelease(l, l.Created-2)) // one that changes nothing
	if !errors.Is(err, lease.ErrLastTs) {
		f.wantCorrupt(err, key, want)
	}
	if _, err := n.server.List(f.Context(), "", lease.ListOptions{}); err != nil {
		f.wantCorrupt(err, key, want)
	} else if key[0] == 'b' {
		f.Errorf("a listing overlooks the damage of %q", key)
	}
}

// acquireDamaged acquires; an error has to name the key.
func (f *fixture) acquireDamaged(n *node, requestKey string, key []byte, want error) error {
	f.Helper()
	leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{RequestKey: requestKey})
	if err != nil {
		if !errors.Is(err, lease.ErrExhausted) {
			f.wantCorrupt(err, key, want)
		}
		return err
	}
	if requestKey == "" {
		f.checkGrant(leases, 1)
		f.releaseLease(n, leases[0], leases[0].Created)
		f.advance(2 * time.Millisecond)
	}
	return nil
}

// wantCorrupt checks that an error is about damage of a key, or, if want is [lease.ErrNewer], about
// what a newer version wrote there.
func (f *fixture) wantCorrupt(err error, key []byte, want error) {
	f.Helper()
	if errors.Is(want, lease.ErrNewer) {
		if !errors.Is(err, want) || errors.Is(err, lease.ErrCorrupt) || !strings.Contains(err.Error(), strconv.Quote(string(key))) {
			f.Errorf("the key %q of a newer version: got %v, want an ErrNewer that names it", key, err)
		}
		return
	}
	var corrupt *lease.CorruptError
	if !errors.As(err, &corrupt) || !bytes.Equal(corrupt.Key, key) || !errors.Is(err, lease.ErrCorrupt) {
		f.Errorf("damage of %q: got %v, want a CorruptError that names it", key, err)
	}
}
