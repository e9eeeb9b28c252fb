// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/lease"
)

// testLoss checks a store that holds nothing: unless it is known to be new,
// nothing is granted until all that it may have held has ended, and been
// continued.
func testLoss(f *fixture) {
	lost := f.acquireLease(f.newNodeOf(f.Open(f.T, f.name+"-lost"), fresh()), 1)
	n := f.newNode(lease.Options{})
	begin := f.now.Load()
	until := f.wantQuarantine(n)
	if want := time.UnixMilli(begin + 660_000); !until.Equal(want) {
		f.Errorf("the quarantine ends at %v, want %v", until, want)
	}
	f.advance(660*time.Second - time.Millisecond)
	if again := f.wantQuarantine(f.newNode(fresh())); !again.Equal(until) { // it is the store that knows
		f.Errorf("the quarantine ends at %v, want %v", again, until)
	}
	f.advance(time.Millisecond)
	for range 5 {
		f.acquireLease(n, 16384)
	}
	if l := f.acquireLease(n, 1)[0]; l.Expired < lost[0].Expired+600_000 {
		f.Errorf("a lease ends at %d, while a lost one is continued until %d", l.Expired, lost[0].Expired+600_000)
	}
	if until, err := n.server.Quarantine(f.Context(), "", time.Hour); err != nil || !f.wantQuarantine(n).Equal(until) {
		f.Errorf("by hand: %v, %v", until, err)
	}
	if err := n.server.EndQuarantine(f.Context(), ""); err != nil {
		f.Error(err)
	}
	f.acquireLease(n, 1)
}

// testLossWhileRunning checks a store that is emptied while a server runs: even
// one that was told that it is new notices.
func testLossWhileRunning(f *fixture) {
	store := &switchStore{}
	store.current.Store(&storeBox{f.Open(f.T, f.name+"-before")})
	n := f.newNodeOf(store, fresh())
	f.acquireLease(n, 1)
	store.current.Store(&storeBox{f.Open(f.T, f.name+"-after")})
	f.wantQuarantine(n)
	f.advance(time.Minute)
	until := f.wantQuarantine(f.newNodeOf(store, fresh()))
	f.advance(10 * time.Minute)
	if f.now.Load() != until.UnixMilli() {
		f.Errorf("now is %d, the quarantine ends at %d", f.now.Load(), until.UnixMilli())
	}
	f.acquireLease(n, 1)

	// Another server has begun with the empty store, and knows of nothing.
	store.current.Store(&storeBox{f.Open(f.T, f.name+"-third")})
	if _, err := f.newNodeOf(store, fresh()).Acquire(f.Context(), idgen.AcquireRequest{}); err != nil {
		f.Fatal(err)
	}
	f.wantQuarantine(n)
	f.wantQuarantine(f.newNodeOf(store, fresh()))
}

// testCorrupt damages each record in turn, and checks that it is named by the
// calls that need it, that it keeps no other from being listed, and that nothing is granted
// twice; the same of records as a newer version may write them, which are not called damage.
func testCorrupt(f *fixture) {
	n := f.newNode(small(2))
	store := f.Open(f.T, f.name)
	first := f.acquireKeyed(n, "key", 4)
	f.checkGrant(first, 4)
	for range 10 {
		f.acquireLease(n, 4)
	}
	charged, err := f.acquireWithin(n, "account", 4, idgen.AcquireRequest{})
	if err != nil {
		f.Fatal(err)
	}
	f.checkGrant(charged, 1)
	reported := map[byte]bool{}
	for _, pair := range scan(f, store, lease.DefaultService, []byte{0}, []byte{0xff}, 1000) {
		if bytes.IndexByte([]byte("qx"), pair.Key[0]) >= 0 {
			continue // all that they say is in the key
		}
		for _, value := range damage(pair.Value) {
			f.putPair(store, pair.Key, value)
			f.callWithDamage(n, pair.Key, first[0], lease.ErrCorrupt, reported)
		}
		for _, value := range newer(pair) {
			f.putPair(store, pair.Key, value)
			f.callWithDamage(n, pair.Key, first[0], lease.ErrNewer, reported)
			if now := scan(f, store, lease.DefaultService, pair.Key, append(bytes.Clone(pair.Key), 0), 1); len(now) != 1 || !bytes.Equal(now[0].Value, value) {
				f.Errorf("the record %q of a newer version was changed", pair.Key)
			}
		}
		f.putPair(store, pair.Key, pair.Value)
	}
	for _, kind := range []byte("sfbra") {
		if !reported[kind] {
			f.Errorf("damage of no record %q was reported", kind)
		}
	}
	entry := []byte{'q', 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // a byte too long
	f.putPair(store, entry, []byte("?"))
	if err := f.acquireDamaged(n, "", entry, lease.ErrCorrupt); err != nil {
		f.Errorf("a key of no entry in the queue: %v", err)
	}
	f.putPair(store, entry, nil)
	f.advance(time.Hour)
	f.acquireLease(n, 4)
}

// testUnreadableRows damages blocks at the head of the queue, and puts a key there that is not an entry:
// what comes after them is granted and listed, in a service that takes the head first.
func testUnreadableRows(f *fixture) {
	options := small(2)
	options.Default.Plain = true
	n := f.newNode(options)
	store := f.Open(f.T, f.name)
	var all []idgen.Lease
	for {
		leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{Throughput: 4})
		if errors.Is(err, lease.ErrExhausted) {
			break
		}
		if err != nil {
			f.Fatal(err)
		}
		f.checkGrant(leases, 4)
		all = append(all, leases...)
	}
	const damaged = 9
	for _, l := range all[:damaged+1] {
		f.releaseLease(n, l, l.Created)
		f.advance(time.Second)
	}
	for _, l := range all[:damaged] {
		f.putPair(store, binary.BigEndian.AppendUint32([]byte("b"), uint32(l.Base())), []byte("x"))
	}
	f.putPair(store, append([]byte{'q'}, make([]byte, 14)...), []byte("?"))
	if got := f.acquireLease(n, 4); got[0].Base() != all[damaged].Base() {
		f.Errorf("the lease of %d is granted, want that of %d", got[0].Base(), all[damaged].Base())
	}
	_, err := n.server.Acquire(f.Context(), idgen.AcquireRequest{Throughput: 4})
	if !errors.Is(err, lease.ErrExhausted) || !errors.Is(err, lease.ErrCorrupt) {
		f.Errorf("nothing is free that can be read: %v", err)
	}
	page, err := n.server.List(f.Context(), "", lease.ListOptions{})
	if len(page.Leases) != len(all)-damaged || strings.Count(fmt.Sprint(err), lease.ErrCorrupt.Error()) != damaged {
		f.Errorf("%d of %d leases are listed, with %v", len(page.Leases), len(all), err)
	}
}

// damage returns wrong values instead of one.
func damage(value []byte) [][]byte {
	flipped := bytes.Clone(value)
	flipped[len(flipped)/2] ^= 1
	format := bytes.Clone(value)
	format[0]--
	return [][]byte{flipped, format, value[:len(value)-1], []byte("x")}
}

// newer returns values that a newer version may have in place of one: of another format, and
// with a member that this version does not know.
func newer(pair lease.Pair) [][]byte {
	format := bytes.Clone(pair.Value)
	format[0]++
	text := append([]byte(`{"later":1,`), pair.Value[11:]...)
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(pair.Key, table), table, text)
	return [][]byte{format, append(fmt.Appendf(nil, "1%08x ", sum), text...)}
}

// lasting is a service of 16 machine ids with leases of a length.
func lasting(d time.Duration) lease.Options {
	o := small(2)
	o.Default.Duration = d
	return o
}

// testLossShortened loses leases of an hour when leases of a minute have been
// configured: the quarantine lasts until the former have ended, and are continued
// no longer than the new ones begin to be. Once there were none for long enough,
// a quarantine lasts as long as short leases need.
func testLossShortened(f *fixture) {
	store := failover{f.Open(f.T, f.name), new(atomic.Int64)}
	f.acquireLease(f.newNodeOf(store, lasting(time.Hour)), 1)
	n := f.newNodeOf(store, lasting(time.Minute))
	f.acquireLease(n, 1)
	f.loseLeases(store)
	if took, want := f.waitQuarantine(n), 2*time.Hour; took != want { // an hour, one less a minute for the continuation, a minute of skew
		f.Errorf("the quarantine lasts %v, want %v", took, want)
	}
	for range 16 {
		f.acquireLease(n, 4)
	}
	for range 40 { // leases of a minute, for longer than those of an hour could last
		f.advance(5 * time.Minute)
		f.acquireLease(n, 4)
	}
	f.loseLeases(store)
	if took := f.waitQuarantine(n); took != 2*time.Minute {
		f.Errorf("when the long leases are over, the quarantine lasts %v, want 2m", took)
	}
	f.acquireLease(n, 4)
	emptied := &switchStore{}
	emptied.current.Store(&storeBox{store})
	f.acquireLease(f.newNodeOf(emptied, lasting(time.Hour)), 4)
	n = f.newNodeOf(emptied, lasting(time.Minute))
	f.acquireLease(n, 4)
	emptied.current.Store(&storeBox{f.Open(f.T, f.name+"-after")})
	if took := f.waitQuarantine(n); took != 2*time.Hour {
		f.Errorf("of a store that was emptied the server remembers %v, want 2h", took)
	}
}

// testLossRandom acquires and releases through servers that disagree on how long
// leases last, and loses all of them now and then.
func testLossRandom(f *fixture) {
	r := seed.Rand(f.T)
	store := failover{f.Open(f.T, f.name), new(atomic.Int64)}
	lengths := []time.Duration{time.Minute, 10 * time.Minute, time.Hour}
	n := f.newNodeOf(store, lasting(lengths[r.IntN(3)]))
	var current []idgen.Lease
	for range 400 {
		switch r.IntN(16) {
		case 0:
			f.loseLeases(store)
		case 1, 2: // another configuration
			n = f.newNodeOf(store, lasting(lengths[r.IntN(3)]))
		case 3, 4:
			f.advance(time.Duration(r.Int64N(int64(20 * time.Minute))))
		case 5, 6:
			if len(current) > 0 {
				i := r.IntN(len(current))
				f.randomRelease(r, n, current[i])
				current = append(current[:i], current[i+1:]...)
			}
		default:
			leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{Throughput: 1 + r.IntN(20)})
			if quarantine := (*refusal.QuarantineError)(nil); errors.As(err, &quarantine) {
				f.now.Store(quarantine.Until.UnixMilli())
				continue
			}
			if errors.Is(err, lease.ErrExhausted) {
				continue
			}
			if err != nil {
				f.Fatal(err)
			}
			f.checkGrant(leases, 1)
			current = append(current, leases...)
		}
	}
}
