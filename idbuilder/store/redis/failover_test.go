// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/ledger"
	"github.com/kazahana-db/kazahana/idbuilder/store/redis"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// wantLost checks that stores give no numbers.
func wantLost(t *testing.T, stores ...*redis.Store) {
	t.Helper()
	for i, s := range stores {
		if got, err := s.Reserve(t.Context(), "orders", up(1)); !errors.Is(err, store.ErrLost) {
			t.Errorf("store %d: reserve: %+v, %v, want ErrLost", i, got, err)
		}
		if _, err := s.Put(t.Context(), store.Leases, store.Document{Key: "a", Value: []byte(`{}`)}); !errors.Is(err, store.ErrLost) {
			t.Errorf("store %d: put: %v", i, err)
		}
		if err := s.SetSequence(t.Context(), "unused", 1, 0); !errors.Is(err, store.ErrLost) {
			t.Errorf("store %d: set sequence: %v", i, err)
		}
		for call, err := range map[string]error{"init": s.Init(t.Context()), "ping": s.Ping(t.Context())} {
			if !errors.Is(err, store.ErrLost) {
				t.Errorf("store %d: %s: %v", i, call, err)
			}
		}
	}
}

// moving returns a client of the server that addr has at the time of a connection.
func moving(t *testing.T, addr *atomic.Pointer[string]) *goredis.Client {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{
		Addr: "moving:1", MinRetryBackoff: -1, MaxRetryBackoff: -1,
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, *addr.Load())
		},
	})
	t.Cleanup(func() { check(t, client.Close()) })
	return client
}

// TestFailover promotes a replica that lacks the last writes. No worker gets a
// number until an operator confirms, and then none that was given before.
func TestFailover(t *testing.T) {
	first, second := servers.StartRedis(t), servers.StartRedis(t)
	one, two := clientOf(t, first.Addr), clientOf(t, second.Addr)
	follow(t, two, first.Addr, one)
	var addr atomic.Pointer[string]
	addr.Store(&first.Addr)
	client := moving(t, &addr)
	before, other := initStore(t, client, redis.Options{}), initStore(t, client, redis.Options{})
	var given ledger.Ledger
	reserve(t, before, &given, 10)
	_, err := before.Advance(t.Context())
	check(t, err)
	version, err := before.Put(t.Context(), store.Configs, store.Document{Key: "a", Value: []byte(`{}`)})
	check(t, err)
	awaitSync(t, one)
	check(t, two.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err()) // the replica will not get the writes that follow
	for range 3 {
		reserve(t, other, &given, 10)
	}
	revision, err := other.Advance(t.Context())
	check(t, err)
	forgotten, err := other.Put(t.Context(), store.Configs, store.Document{Key: "a", Value: []byte(`{}`), Version: version})
	check(t, err)
	late, err := other.Reserve(t.Context(), "late", up(5)) // a sequence that the replica never sees
	check(t, err)
	first.Kill(t)
	addr.Store(&second.Addr)
	after := newStore(t, client, redis.Options{})
	wantLost(t, before, other, after)

	check(t, after.Confirm(t.Context(), 100))
	state, err := before.Sequence(t.Context(), "orders")
	check(t, err)
	for _, s := range []*redis.Store{before, other, after} {
		check(t, s.Init(t.Context()))
		reserve(t, s, &given, 10)
	}
	check(t, given.Check(true))
	if state.Value != 1010+100 {
		t.Errorf("after a confirmation that skips 100 it is at %d", state.Value)
	}
	if again, err := after.Reserve(t.Context(), "late", up(5)); err != nil || again.From < late.To || again.Version <= late.Version {
		t.Errorf("a sequence that was forgotten as a whole: %+v, then %+v, %v", late, again, err)
	}
	if now, err := before.Revision(t.Context()); err != nil || now <= revision {
		t.Errorf("the revision went from %d to %d, %v", revision, now, err)
	}
	if now, err := before.Put(t.Context(), store.Configs, store.Document{Key: "a", Value: []byte(`{}`), Version: version}); err != nil || now <= forgotten {
		t.Errorf("the version of a document went from %d to %d, %v", forgotten, now, err)
	}
}

// follow makes a server a replica, and waits until it has all data.
func follow(t *testing.T, replica *goredis.Client, addr string, master *goredis.Client) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	check(t, err)
	check(t, master.ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err())
	check(t, replica.Do(t.Context(), "REPLICAOF", host, port).Err())
	for {
		info, err := replica.Info(t.Context(), "replication").Result()
		check(t, err)
		if strings.Contains(info, "master_link_status:up") {
			return
		}
		check(t, t.Context().Err())
		time.Sleep(5 * time.Millisecond) // another process works
	}
}

// awaitSync waits until a replica has all data.
func awaitSync(t *testing.T, master *goredis.Client) {
	t.Helper()
	conn := master.Conn() // WAIT is about the writes of its own connection
	check(t, conn.Set(t.Context(), "synced", 1, 0).Err())
	if n, err := conn.Wait(t.Context(), 1, 5*time.Minute).Result(); n != 1 || err != nil {
		t.Fatalf("%d replicas have everything: %v", n, err)
	}
	check(t, conn.Close())
}

// TestFailoverAndBack promotes a replica, and then the first master again, which has the
// run id that the store knows, and by then the data of the replica.
func TestFailoverAndBack(t *testing.T) {
	first, second := servers.StartRedis(t), servers.StartRedis(t)
	one, two := clientOf(t, first.Addr), clientOf(t, second.Addr)
	s := initStore(t, one, redis.Options{})
	var given ledger.Ledger
	follow(t, two, first.Addr, one)
	wantLost(t, s) // the first replica gives the master a new replication id
	check(t, s.Confirm(t.Context(), 0))
	reserve(t, s, &given, 10)
	awaitSync(t, one)
	check(t, two.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	reserve(t, s, &given, 10)
	follow(t, one, second.Addr, two)
	if _, err := s.Reserve(t.Context(), "orders", up(1)); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("on a replica: %v", err)
	}
	check(t, one.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	fresh := newStore(t, one, redis.Options{})
	wantLost(t, s, fresh)
	check(t, fresh.Confirm(t.Context(), 10))
	reserve(t, fresh, &given, 10)
	reserve(t, s, &given, 10)
	check(t, given.Check(true))
}

// TestRestart restarts a server that keeps its data: a store trusts it only if it
// is durable.
func TestRestart(t *testing.T) {
	server := servers.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	client := clientOf(t, server.Addr)
	trusting, careful := initStore(t, client, redis.Options{Prefix: "durable", Durable: true}), initStore(t, client, redis.Options{})
	var given, durable ledger.Ledger
	reserve(t, careful, &given, 10)
	reserve(t, trusting, &durable, 10)
	server.Restart(t)
	wantLost(t, careful, newStore(t, client, redis.Options{}))
	reserve(t, trusting, &durable, 10)
	check(t, durable.Check(false))
	check(t, careful.Confirm(t.Context(), 0))
	reserve(t, careful, &given, 10)
	check(t, given.Check(false))
	check(t, client.ConfigSet(t.Context(), "appendfsync", "everysec").Err())
	if err := trusting.Init(t.Context()); err == nil || !strings.Contains(err.Error(), "appendfsync everysec") {
		t.Errorf("durable, and synced once a second: %v", err)
	}
}

// TestNotDurable refuses to trust a server that keeps no log, and one that evicts.
func TestNotDurable(t *testing.T) {
	server := servers.StartRedis(t)
	client := clientOf(t, server.Addr)
	if err := newStore(t, client, redis.Options{Durable: true}).Init(t.Context()); err == nil || !strings.Contains(err.Error(), "appendonly") {
		t.Errorf("durable without a log: %v", err)
	}
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		check(t, client.ConfigSet(t.Context(), "maxmemory-policy", policy).Err())
		if err := newStore(t, client, redis.Options{}).Init(t.Context()); err == nil || !strings.Contains(err.Error(), policy) {
			t.Errorf("a server that evicts: %v", err)
		}
	}
}

// TestWaitReplicas checks that a write waits for replicas.
func TestWaitReplicas(t *testing.T) {
	first, second := servers.StartRedis(t), servers.StartRedis(t)
	one, two := clientOf(t, first.Addr), clientOf(t, second.Addr)
	s := initStore(t, one, redis.Options{WaitReplicas: 1, WaitTimeout: 10 * time.Millisecond})
	got, err := s.Reserve(t.Context(), "orders", up(10))
	if err == nil || slices.ContainsFunc([]error{store.ErrLost, store.ErrConflict, store.ErrReadOnly}, func(state error) bool { return errors.Is(err, state) }) {
		t.Errorf("without a replica: %+v, %v", got, err)
	}
	follow(t, two, first.Addr, one)
	s = newStore(t, one, redis.Options{WaitReplicas: 1, WaitTimeout: 5 * time.Minute})
	check(t, s.Confirm(t.Context(), 0))
	got, err = s.Reserve(t.Context(), "orders", up(10))
	if err != nil || got.From != 1010 { // the numbers of the unknown outcome are skipped
		t.Errorf("with a replica: %+v, %v", got, err)
	}
	if has := two.Get(t.Context(), "idbuilder:seq:orders").Val(); has != "1020" {
		t.Errorf("the replica has %s", has)
	}
}
