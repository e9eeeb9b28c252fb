// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
)

// fixture is one test on a store of its own, with a clock and a ledger.
type fixture struct {
	*testing.T
	Suite
	name   string
	now    atomic.Int64 // Unix milliseconds
	ledger Ledger
}

func newFixture(t *testing.T, s Suite) *fixture {
	f := &fixture{T: t, Suite: s, name: strings.ReplaceAll(strings.ReplaceAll(t.Name(), "/", "-"), "_", "-")}
	f.now.Store(idgen.DefaultCustomEpoch + 1_000_000_000)
	return f
}

// advance moves the clock.
func (f *fixture) advance(d time.Duration) { f.now.Add(d.Milliseconds()) }

// newNode opens the store and returns a server of it.
func (f *fixture) newNode(options lease.Options) *node {
	f.Helper()
	return f.newNodeOf(f.Open(f.T, f.name), options)
}

func (f *fixture) newNodeOf(store lease.Store, options lease.Options) *node {
	f.Helper()
	n := &node{}
	begin := f.now.Load()
	options.Monotonic = func() time.Duration {
		return time.Duration(f.now.Load()-begin-n.paused.Load()) * time.Millisecond
	}
	options.Logger = slog.New(slog.DiscardHandler)
	server, err := lease.NewServer(AtTime(store, func() time.Time { return time.UnixMilli(f.now.Load() + n.off.Load()) }), options)
	if err != nil {
		f.Fatal(err)
	}
	n.server, n.LeaseProvider = server, server
	if f.Front != nil {
		n.LeaseProvider = f.Front(f.T, server)
	}
	return n
}

// wantServices fails a test in which servers have to see each other's services.
func (f *fixture) wantServices() {
	f.Helper()
	if _, err := f.Open(f.T, f.name).Services(f.Context(), "", 1); err != nil {
		f.Fatalf("servers cannot count each other's services: %v", err)
	}
}

// node is a server of the store, as clients see it, with a clock that may be
// off, and a monotonic clock that stands still while the machine is paused.
type node struct {
	idgen.LeaseProvider
	server *lease.Server
	off    atomic.Int64 // milliseconds
	paused atomic.Int64 // milliseconds
}

// acquireWithin acquires on a budget, which is asked of the server itself: what it
// travels in does not pass a network.
func (f *fixture) acquireWithin(n *node, account string, perMs int, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	f.Helper()
	budget := &refusal.Budget{Account: account, PerMs: perMs}
	leases, err := n.server.Acquire(refusal.WithBudget(f.Context(), budget), req)
	if err == nil && !budget.IsApplied() {
		f.Error("the server has not applied the budget")
	}
	return leases, err
}

// acquireReplacing acquires one lease on a budget in the place of others.
func (f *fixture) acquireReplacing(n *node, account string, perMs, throughput int, replaces []idgen.Lease) (idgen.Lease, error) {
	f.Helper()
	req := idgen.AcquireRequest{Throughput: throughput}
	for _, l := range replaces {
		req.Replaces = append(req.Replaces, l.Ref())
	}
	leases, err := f.acquireWithin(n, account, perMs, req)
	if err != nil {
		return idgen.Lease{}, err
	}
	f.checkGrant(leases, throughput)
	return leases[0], nil
}

// acquireNow acquires a lease of the default service and checks that it begins at
// the right time, give or take a second.
func (f *fixture) acquireNow(n *node, what string) idgen.Lease {
	f.Helper()
	l := f.acquireLease(n, 1)[0]
	if ahead := time.Duration(l.Created-f.now.Load()) * time.Millisecond; ahead.Abs() > time.Second {
		f.Fatalf("%s: the lease begins %v from now", what, ahead)
	}
	return l
}

// signLiteral returns the release of the specification's section 4.1: it says
// nothing but the id, and when it was signed.
func (f *fixture) signLiteral(l idgen.Lease) idgen.ReleaseRequest {
	req := idgen.ReleaseRequest{ID: l.ID, Timestamp: f.now.Load()}
	mac := hmac.New(sha256.New, []byte(l.Secret))
	fmt.Fprintf(mac, "%d:%d", req.ID, req.Timestamp)
	req.Signature = hex.EncodeToString(mac.Sum(nil))
	return req
}

// acquireFor acquires a lease of a service.
func (f *fixture) acquireFor(n *node, service string) ([]idgen.Lease, error) {
	return n.Acquire(f.Context(), idgen.AcquireRequest{ServiceID: service})
}

// listAll returns all pages of the default service.
func (f *fixture) listAll(n *node, options lease.ListOptions) []lease.Info {
	f.Helper()
	var all []lease.Info
	for {
		page, err := n.server.List(f.Context(), "", options)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, page.Leases...)
		if options.After = page.Next; page.Next == "" {
			return all
		}
	}
}

// signRelease returns a request to release l that is signed now.
func (f *fixture) signRelease(l idgen.Lease, lastTs int64) idgen.ReleaseRequest {
	return l.Release("", lastTs, time.UnixMilli(f.now.Load()))
}

// renewLease renews a lease, which has to succeed, and returns its end from now.
func (f *fixture) renewLease(n *node, l idgen.Lease, uses time.Duration) (left int64) {
	f.Helper()
	renewed, err := n.server.Renew(f.Context(), "", l, uses)
	if err != nil {
		f.Fatal(err)
	}
	if renewed.ID != l.ID || renewed.Created != l.Created || renewed.Secret != l.Secret {
		f.Fatalf("renewed %+v as %+v", l, renewed)
	}
	return renewed.Expired - f.now.Load()
}

// acquireKeyed asks with a request key.
func (f *fixture) acquireKeyed(n *node, key string, throughput int) []idgen.Lease {
	f.Helper()
	leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{RequestKey: key, Throughput: throughput})
	if err != nil {
		f.Fatal(err)
	}
	return leases
}

// wantNearNow checks that no lease begins at a time to which only a clock jumped: no
// further ahead than a lease lasts, and servers disagree.
func (f *fixture) wantNearNow(leases []idgen.Lease) {
	f.Helper()
	for _, l := range leases {
		if ahead := l.Created - f.now.Load(); ahead > 600_000+22_000 {
			f.Fatalf("the lease begins %v ahead: %+v", time.Duration(ahead)*time.Millisecond, l)
		}
	}
}

// randomRelease releases a lease that may have ended.
func (f *fixture) randomRelease(r *rand.Rand, n *node, l idgen.Lease) {
	now := f.now.Load()
	last := min(max(l.Created-1, now-int64(r.IntN(1000))), l.Expired-1)
	err := n.Release(f.Context(), f.signRelease(l, last))
	if err != nil && !errors.Is(err, lease.ErrNotFound) {
		f.Fatal(err)
	}
	if now < l.Expired {
		f.ledger.AddRelease(l, last)
	}
}

// acquireLease asks for leases of the default service, which have to be granted, and
// enters them into the ledger.
func (f *fixture) acquireLease(n *node, throughput int) []idgen.Lease {
	f.Helper()
	leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{Throughput: throughput})
	if err != nil {
		f.Fatal(err)
	}
	f.checkGrant(leases, throughput)
	return leases
}

// checkGrant checks leases and enters them into the ledger.
func (f *fixture) checkGrant(leases []idgen.Lease, throughput int) {
	f.Helper()
	if total := throughputOf(leases); total < max(throughput, 1) {
		f.Fatalf("asked for %d positions, got %d", throughput, total)
	}
	if err := f.ledger.AddGrant(leases...); err != nil {
		f.Fatal(err)
	}
}

func throughputOf(leases []idgen.Lease) int {
	total := 0
	for _, l := range leases {
		total += l.Throughput()
	}
	return total
}

// releaseLease gives a lease of the default service back, which has to succeed.
func (f *fixture) releaseLease(n *node, l idgen.Lease, lastTs int64) {
	f.Helper()
	if err := n.Release(f.Context(), f.signRelease(l, lastTs)); err != nil {
		f.Fatal(err)
	}
	f.ledger.AddRelease(l, lastTs)
}

// putPair changes the store without the server.
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
	var corrupt *refusal.CorruptError
	if !errors.As(err, &corrupt) || !bytes.Equal(corrupt.Key, key) || !errors.Is(err, lease.ErrCorrupt) {
		f.Errorf("damage of %q: got %v, want a CorruptError that names it", key, err)
	}
}

// wantQuarantine checks that nothing is granted, and returns until when.
func (f *fixture) wantQuarantine(n *node) time.Time {
	f.Helper()
	_, err := n.Acquire(f.Context(), idgen.AcquireRequest{})
	var quarantine *refusal.QuarantineError
	if !errors.As(err, &quarantine) || !errors.Is(err, lease.ErrQuarantine) || quarantine.ServiceID != lease.DefaultService {
		f.Fatalf("got %v, want a QuarantineError", err)
	}
	return quarantine.Until
}

// loseLeases forgets all leases of the default service, and tells so. What is left is
// what seldom changes: the service's record.
func (f *fixture) loseLeases(store failover) {
	f.Helper()
	for _, pair := range scan(f, store.Store, lease.DefaultService, []byte{0}, []byte{0xff}, 1000) {
		if pair.Key[0] != 's' {
			f.putPair(store.Store, pair.Key, nil)
		}
	}
	store.life.Add(1)
}

// waitQuarantine waits for the end of the quarantine, and returns how long that was.
func (f *fixture) waitQuarantine(n *node) time.Duration {
	f.Helper()
	took := time.Duration(f.wantQuarantine(n).UnixMilli()-f.now.Load()) * time.Millisecond
	f.advance(took)
	return took
}

// readWork enters the output of Work into the ledger. Leases that were released
// are entered as released at once: another process may hold the rest.
func (f *fixture) readWork(output []byte) error {
	lines := 0
	for scanner := bufio.NewScanner(bytes.NewReader(output)); scanner.Scan(); {
		if scanner.Bytes()[0] != '{' {
			continue // what the test binary says at its end
		}
		var line workLine
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return err
		}
		lines++
		if err := f.ledger.add(line.Leases[0], line.LastTs); err != nil {
			return err
		}
		if err := f.ledger.AddGrant(line.Leases[1:]...); err != nil {
			return err
		}
	}
	if lines != workLeases {
		return fmt.Errorf("it acquired %d times, want %d", lines, workLeases)
	}
	return nil
}
