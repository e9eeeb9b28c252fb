// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// quarantined checks that nothing is granted, and returns until when.
func (f *fixture) quarantined(n *node) time.Time {
	f.Helper()
	_, err := n.Acquire(f.Context(), idgen.AcquireRequest{})
	var quarantine *lease.QuarantineError
	if !errors.As(err, &quarantine) || !errors.Is(err, lease.ErrQuarantine) || quarantine.ServiceID != lease.DefaultService {
		f.Fatalf("got %v, want a QuarantineError", err)
	}
	return quarantine.Until
}

// testLoss checks a store that holds nothing: unless it is known to be new,
// nothing is granted until all that it may have held has ended, and been
// continued.
func testLoss(f *fixture) {
	lost := f.acquire(f.nodeOf(f.Open(f.T, f.name+"-lost"), fresh()), 1)
	n := f.node(lease.Options{})
	begin := f.now.Load()
	until := f.quarantined(n)
	if want := time.UnixMilli(begin + 660_000); !until.Equal(want) {
		f.Errorf("the quarantine ends at %v, want %v", until, want)
	}
	f.advance(660*time.Second - time.Millisecond)
	if again := f.quarantined(f.node(fresh())); !again.Equal(until) { // it is the store that knows
		f.Errorf("the quarantine ends at %v, want %v", again, until)
	}
	f.advance(time.Millisecond)
	for range 5 {
		f.acquire(n, 16384)
	}
	if l := f.acquire(n, 1)[0]; l.Expired < lost[0].Expired+600_000 {
		f.Errorf("a lease ends at %d, while a lost one is continued until %d", l.Expired, lost[0].Expired+600_000)
	}
	if until, err := n.server.Quarantine(f.Context(), "", time.Hour); err != nil || !f.quarantined(n).Equal(until) {
		f.Errorf("by hand: %v, %v", until, err)
	}
	if err := n.server.EndQuarantine(f.Context(), ""); err != nil {
		f.Error(err)
	}
	f.acquire(n, 1)
}

// testLossWhileRunning checks a store that is emptied while a server runs: even
// one that was told that it is new notices.
func testLossWhileRunning(f *fixture) {
	store := &switched{}
	store.current.Store(&opened{f.Open(f.T, f.name+"-before")})
	n := f.nodeOf(store, fresh())
	f.acquire(n, 1)
	store.current.Store(&opened{f.Open(f.T, f.name+"-after")})
	f.quarantined(n)
	f.advance(time.Minute)
	until := f.quarantined(f.nodeOf(store, fresh()))
	f.advance(10 * time.Minute)
	if f.now.Load() != until.UnixMilli() {
		f.Errorf("now is %d, the quarantine ends at %d", f.now.Load(), until.UnixMilli())
	}
	f.acquire(n, 1)

	// Another server has begun with the empty store, and knows of nothing.
	store.current.Store(&opened{f.Open(f.T, f.name+"-third")})
	if _, err := f.nodeOf(store, fresh()).Acquire(f.Context(), idgen.AcquireRequest{}); err != nil {
		f.Fatal(err)
	}
	f.quarantined(n)
	f.quarantined(f.nodeOf(store, fresh()))
}

// switched is a store that can be replaced.
type switched struct{ current atomic.Pointer[opened] }

type opened struct{ lease.Store }

func (s *switched) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return s.current.Load().Update(ctx, service, fn)
}

// testCorrupt damages each record in turn, and checks that it is named by the
// calls that need it, and that nothing is granted twice.
func testCorrupt(f *fixture) {
	n := f.node(small(2))
	store := f.Open(f.T, f.name)
	first := f.keyed(n, "key", 4)
	f.granted(first, 4)
	for range 10 {
		f.acquire(n, 4)
	}
	charged, err := f.within(n, "account", 4, idgen.AcquireRequest{})
	if err != nil {
		f.Fatal(err)
	}
	f.granted(charged, 1)
	reported := map[byte]bool{}
	for _, pair := range scan(f, store, lease.DefaultService, []byte{0}, []byte{0xff}, 1000) {
		if bytes.IndexByte([]byte("qx"), pair.Key[0]) >= 0 {
			continue // all that they say is in the key
		}
		for _, value := range damage(pair.Value) {
			f.put(store, pair.Key, value)
			f.damaged(n, pair.Key, first[0], reported)
		}
		f.put(store, pair.Key, pair.Value)
	}
	for _, kind := range []byte("sfbra") {
		if !reported[kind] {
			f.Errorf("damage of no record %q was reported", kind)
		}
	}
	entry := []byte{'q', 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // a byte too long
	f.put(store, entry, []byte("?"))
	if err := f.corrupt(n, "", entry); err == nil {
		f.Error("a key of no entry in the queue was not reported")
	}
	f.put(store, entry, nil)
	f.advance(time.Hour)
	f.acquire(n, 4)
}

// damage returns wrong values instead of one.
func damage(value []byte) [][]byte {
	flipped := bytes.Clone(value)
	flipped[len(flipped)/2] ^= 1
	format := bytes.Clone(value)
	format[0]++
	return [][]byte{flipped, format, value[:len(value)-1], []byte("x")}
}

// put changes the store behind the server's back.
func (f *fixture) put(store lease.Store, key, value []byte) {
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

// damaged makes all calls and notes which kinds of records were reported.
func (f *fixture) damaged(n *node, key []byte, l idgen.Lease, reported map[byte]bool) {
	f.Helper()
	for _, requestKey := range []string{"", "key"} {
		if err := f.corrupt(n, requestKey, key); err != nil {
			reported[key[0]] = true
		}
	}
	if _, err := f.within(n, "account", 4, idgen.AcquireRequest{}); !errors.Is(err, lease.ErrBudget) {
		if f.named(err, key); key[0] == 'a' {
			reported['a'] = true
		}
	}
	err := n.Release(f.Context(), f.sign(l, l.Created-2)) // one that changes nothing
	if !errors.Is(err, lease.ErrLastTs) {
		f.named(err, key)
	}
	if _, err := n.server.List(f.Context(), "", lease.ListOptions{}); err != nil {
		f.named(err, key)
	} else if key[0] == 'b' {
		f.Errorf("a listing overlooks the damage of %q", key)
	}
}

// corrupt acquires; an error has to name the key.
func (f *fixture) corrupt(n *node, requestKey string, key []byte) error {
	f.Helper()
	leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{RequestKey: requestKey})
	if err != nil {
		if !errors.Is(err, lease.ErrExhausted) {
			f.named(err, key)
		}
		return err
	}
	if requestKey == "" {
		f.granted(leases, 1)
		f.release(n, leases[0], leases[0].Created)
		f.advance(2 * time.Millisecond)
	}
	return nil
}

// named checks that an error is about damage of a key.
func (f *fixture) named(err error, key []byte) {
	f.Helper()
	var corrupt *lease.CorruptError
	if !errors.As(err, &corrupt) || !bytes.Equal(corrupt.Key, key) || !errors.Is(err, lease.ErrCorrupt) {
		f.Errorf("damage of %q: got %v, want a CorruptError that names it", key, err)
	}
}
