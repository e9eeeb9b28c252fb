// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/redis"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// workServer names the server and prefix of a process that the suite starts.
const workServer = "KAZAHANA_IDS_REDIS_WORK"

func TestMain(m *testing.M) {
	if where := os.Getenv(workServer); where != "" {
		if err := work(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func work(where string) error {
	addr, prefix, _ := strings.Cut(where, " ")
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	s, err := redis.New(client, redis.Options{Prefix: prefix})
	if err != nil {
		return err
	}
	return errors.Join(storetest.Work(context.Background(), s, os.Stdout), client.Close())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clientOf returns a client of its own.
func clientOf(t *testing.T, addr string) *goredis.Client {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { check(t, client.Close()) })
	return client
}

// on returns a store that is not initialised.
func on(t *testing.T, client goredis.UniversalClient, o redis.Options) *redis.Store {
	t.Helper()
	s, err := redis.New(client, o)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

// ready returns an initialised store.
func ready(t *testing.T, client goredis.UniversalClient, o redis.Options) *redis.Store {
	t.Helper()
	s := on(t, client, o)
	check(t, s.Init(t.Context()))
	return s
}

func TestStore(t *testing.T) {
	server := servers.StartRedis(t)
	storetest.Run(t, storetest.Suite{
		Open: func(t *testing.T, name string) store.Store {
			return on(t, clientOf(t, server.Addr), redis.Options{Prefix: name})
		},
		Process: func(t *testing.T, name string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), workServer+"="+server.Addr+" "+name)
			return cmd
		},
		SetSchema: func(t *testing.T, name string, version int) {
			check(t, clientOf(t, server.Addr).Set(t.Context(), name+":schema:version", version, 0).Err())
		},
		SetReadOnly: func(t *testing.T, name string) func() {
			client := clientOf(t, server.Addr)
			check(t, client.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
			return func() {
				ctx := context.WithoutCancel(t.Context())
				check(t, client.Do(ctx, "REPLICAOF", "NO", "ONE").Err())
				check(t, on(t, client, redis.Options{Prefix: name}).Confirm(ctx, 0)) // the promotion
			}
		},
	})
}

func up(count int64) store.Reservation {
	return store.Reservation{Start: 1000, Step: 1, Count: count, Bound: math.MaxInt64}
}

// reserve reserves and enters what it got.
func reserve(t *testing.T, s store.Store, l *storetest.Ledger, count int64) {
	t.Helper()
	got, err := s.Reserve(t.Context(), "orders", up(count))
	check(t, err)
	l.Add(got)
}

// lost checks that stores give nothing.
func lost(t *testing.T, stores ...*redis.Store) {
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

// moving is a client of whichever server an address names at the time.
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
	before, other := ready(t, client, redis.Options{}), ready(t, client, redis.Options{})
	var ledger storetest.Ledger
	reserve(t, before, &ledger, 10)
	_, err := before.Advance(t.Context())
	check(t, err)
	version, err := before.Put(t.Context(), store.Configs, store.Document{Key: "a", Value: []byte(`{}`)})
	check(t, err)
	synced(t, one)
	check(t, two.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err()) // what follows it will not have
	for range 3 {
		reserve(t, other, &ledger, 10)
	}
	revision, err := other.Advance(t.Context())
	check(t, err)
	forgotten, err := other.Put(t.Context(), store.Configs, store.Document{Key: "a", Value: []byte(`{}`), Version: version})
	check(t, err)
	late, err := other.Reserve(t.Context(), "late", up(5)) // a sequence that the replica never sees
	check(t, err)
	first.Kill(t)
	addr.Store(&second.Addr)
	after := on(t, client, redis.Options{})
	lost(t, before, other, after)

	check(t, after.Confirm(t.Context(), 100))
	state, err := before.Sequence(t.Context(), "orders")
	check(t, err)
	for _, s := range []*redis.Store{before, other, after} {
		check(t, s.Init(t.Context()))
		reserve(t, s, &ledger, 10)
	}
	check(t, ledger.Check(true))
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

// follow makes a server a replica and waits until it has everything.
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

// synced waits until a replica has everything.
func synced(t *testing.T, master *goredis.Client) {
	t.Helper()
	conn := master.Conn() // WAIT is about the writes of its own connection
	check(t, conn.Set(t.Context(), "synced", 1, 0).Err())
	if n, err := conn.Wait(t.Context(), 1, 20*time.Second).Result(); n != 1 || err != nil {
		t.Fatalf("%d replicas have everything: %v", n, err)
	}
	check(t, conn.Close())
}

// TestFailoverAndBack promotes a replica, and then again the first master, which
// has the run id that the store knows, and by then the data of the replica.
func TestFailoverAndBack(t *testing.T) {
	first, second := servers.StartRedis(t), servers.StartRedis(t)
	one, two := clientOf(t, first.Addr), clientOf(t, second.Addr)
	s := ready(t, one, redis.Options{})
	var ledger storetest.Ledger
	follow(t, two, first.Addr, one)
	lost(t, s) // the first replica gives the master a new replication id
	check(t, s.Confirm(t.Context(), 0))
	reserve(t, s, &ledger, 10)
	synced(t, one)
	check(t, two.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	reserve(t, s, &ledger, 10)
	follow(t, one, second.Addr, two)
	if _, err := s.Reserve(t.Context(), "orders", up(1)); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("on a replica: %v", err)
	}
	check(t, one.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	fresh := on(t, one, redis.Options{})
	lost(t, s, fresh)
	check(t, fresh.Confirm(t.Context(), 10))
	reserve(t, fresh, &ledger, 10)
	reserve(t, s, &ledger, 10)
	check(t, ledger.Check(true))
}

// TestRestart restarts a server that keeps its data: a store trusts it only if it
// is durable.
func TestRestart(t *testing.T) {
	server := servers.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	client := clientOf(t, server.Addr)
	trusting, careful := ready(t, client, redis.Options{Prefix: "durable", Durable: true}), ready(t, client, redis.Options{})
	var ledger, durable storetest.Ledger
	reserve(t, careful, &ledger, 10)
	reserve(t, trusting, &durable, 10)
	server.Restart(t)
	lost(t, careful, on(t, client, redis.Options{}))
	reserve(t, trusting, &durable, 10)
	check(t, durable.Check(false))
	check(t, careful.Confirm(t.Context(), 0))
	reserve(t, careful, &ledger, 10)
	check(t, ledger.Check(false))
	check(t, client.ConfigSet(t.Context(), "appendfsync", "everysec").Err())
	if err := trusting.Init(t.Context()); err == nil || !strings.Contains(err.Error(), "appendfsync everysec") {
		t.Errorf("durable, and synced once a second: %v", err)
	}
}

// TestNotDurable refuses to trust a server that keeps no log, and one that evicts.
func TestNotDurable(t *testing.T) {
	server := servers.StartRedis(t)
	client := clientOf(t, server.Addr)
	if err := on(t, client, redis.Options{Durable: true}).Init(t.Context()); err == nil || !strings.Contains(err.Error(), "appendonly") {
		t.Errorf("durable without a log: %v", err)
	}
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		check(t, client.ConfigSet(t.Context(), "maxmemory-policy", policy).Err())
		if err := on(t, client, redis.Options{}).Init(t.Context()); err == nil || !strings.Contains(err.Error(), policy) {
			t.Errorf("a server that evicts: %v", err)
		}
	}
}

// TestForgotten removes data while the server runs.
func TestForgotten(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	for name, forget := range map[string]func(prefix string) error{
		"value":    func(p string) error { return client.Del(t.Context(), p+":seq:orders").Err() },
		"hash":     func(p string) error { return client.Del(t.Context(), p+":seqmeta:orders").Err() },
		"sequence": func(p string) error { return client.Del(t.Context(), p+":seq:orders", p+":seqmeta:orders").Err() },
		"changes":  func(p string) error { return client.HSet(t.Context(), p+":seqmeta:orders", "version", "1").Err() },
		"server":   func(p string) error { return client.Del(t.Context(), p+":server").Err() },
	} {
		t.Run(name, func(t *testing.T) {
			s, other := ready(t, client, redis.Options{Prefix: name}), ready(t, client, redis.Options{Prefix: name})
			var ledger storetest.Ledger
			for range 4 {
				reserve(t, s, &ledger, 10)
			}
			check(t, forget(name))
			lost(t, s, other)
			check(t, s.Confirm(t.Context(), 1000))
			reserve(t, other, &ledger, 10)
			reserve(t, s, &ledger, 10)
			check(t, ledger.Check(true))
		})
	}
	s := ready(t, client, redis.Options{})
	_, err := s.Reserve(t.Context(), "orders", up(1))
	check(t, err)
	check(t, client.Del(t.Context(), "idbuilder:schema:version").Err())
	var corrupt *store.CorruptError
	if err := s.Init(t.Context()); !errors.As(err, &corrupt) {
		t.Errorf("without the version of the schema: %v", err)
	}
	check(t, client.FlushAll(t.Context()).Err())
	if _, err := s.Reserve(t.Context(), "orders", up(1)); !errors.Is(err, store.ErrNoSchema) {
		t.Errorf("a server that was emptied: %v", err)
	}
}

// TestStaleVersion checks that numbers that were skipped are not given back by a
// worker who knows the sequence from before the confirmation.
func TestStaleVersion(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	s := ready(t, client, redis.Options{Prefix: "stale"})
	got, err := s.Reserve(t.Context(), "orders", up(10))
	check(t, err)
	check(t, s.Confirm(t.Context(), 50))
	if err := s.SetSequence(t.Context(), "orders", got.From, got.Version); !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if got, err := s.Reserve(t.Context(), "orders", up(1)); err != nil || got.From != 1060 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := s.Reserve(t.Context(), "new", up(1)); err != nil || got.From != 1050 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestForgottenConfirmation checks that versions and the revision grow also where a
// second failover forgets what the first one's confirmation wrote.
func TestForgottenConfirmation(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	s := ready(t, client, redis.Options{Prefix: "p"})
	counters := func() (version, revision int64) {
		t.Helper()
		check(t, client.Del(t.Context(), "p:doc:lease:a", "p:docmeta:lease:a", "p:docs:lease").Err())
		version, err := s.Put(t.Context(), store.Leases, store.Document{Key: "a", Value: []byte(`{}`)})
		check(t, err)
		revision, err = s.Advance(t.Context())
		check(t, err)
		return version, revision
	}
	counters()
	kept := client.MGet(t.Context(), "p:version", "p:revision").Val()
	check(t, s.Confirm(t.Context(), 0))
	for range 10 {
		counters()
	}
	version, revision := counters()
	check(t, client.MSet(t.Context(), "p:version", kept[0], "p:revision", kept[1]).Err())
	check(t, s.Confirm(t.Context(), 0))
	if v, r := counters(); v <= version || r <= revision {
		t.Errorf("the version went from %d to %d, the revision from %d to %d", version, v, revision, r)
	}
}

// TestKeys checks that keys and values are as they are specified.
func TestKeys(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	s := ready(t, client, redis.Options{})
	for range 2 {
		_, err := s.Reserve(t.Context(), "orders", up(10))
		check(t, err)
	}
	_, err := s.Put(t.Context(), store.Configs, store.Document{Key: "orders", Type: "increment", Value: []byte(`{"base": 1000}`)})
	check(t, err)
	_, err = s.Put(t.Context(), store.Replies, store.Document{Key: "r", Value: []byte(`{}`), Expires: time.Now().Add(time.Hour)})
	check(t, err)
	_, err = s.Advance(t.Context())
	check(t, err)
	check(t, s.Ping(t.Context()))
	for key, want := range map[string]string{"idbuilder:seq:orders": "1020", "idbuilder:cfg:orders": `{"base": 1000}`, "idbuilder:schema:version": "1", "idbuilder:revision": "1"} {
		if got := client.Get(t.Context(), key).Val(); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	keys, err := client.Keys(t.Context(), "*").Result()
	check(t, err)
	want := []string{
		"idbuilder:cfg:orders", "idbuilder:doc:reply:r", "idbuilder:docmeta:config:orders", "idbuilder:docmeta:reply:r", "idbuilder:docs:config", "idbuilder:docs:reply",
		"idbuilder:expiring", "idbuilder:ping", "idbuilder:revision", "idbuilder:schema:version", "idbuilder:seq:orders", "idbuilder:seqmeta:orders", "idbuilder:server", "idbuilder:version",
	}
	if slices.Sort(keys); !slices.Equal(keys, want) {
		t.Errorf("the keys are\n%q, want\n%q", keys, want)
	}
}

// TestAdopted reserves from a sequence that another program has counted.
func TestAdopted(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	s := ready(t, client, redis.Options{Prefix: "adopted"})
	check(t, client.Set(t.Context(), "adopted:seq:orders", "5000", 0).Err())
	got, err := s.Reserve(t.Context(), "orders", up(10))
	if err != nil || got.From != 5000 || got.To != 5010 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, value := range []string{"x", "", "1.5", "99999999999999999999", "-99999999999999999999"} {
		check(t, client.Set(t.Context(), "adopted:seq:orders", value, 0).Err())
		var corrupt *store.CorruptError
		if got, err := s.Reserve(t.Context(), "orders", up(1)); !errors.As(err, &corrupt) && !errors.Is(err, store.ErrLost) {
			t.Errorf("%q: %+v, %v", value, got, err)
		}
	}
	check(t, client.Set(t.Context(), "adopted:cfg:foreign", "{}", 0).Err())
	var corrupt *store.CorruptError
	if _, err := s.Put(t.Context(), store.Configs, store.Document{Key: "foreign", Value: []byte(`{"a":1}`)}); !errors.As(err, &corrupt) {
		t.Errorf("put over what another program has stored: %v", err)
	}
	if got := client.Get(t.Context(), "adopted:cfg:foreign").Val(); got != "{}" {
		t.Errorf("it was changed to %q", got)
	}
}

// TestSweep checks that expired documents are removed, with all of their parts.
func TestSweep(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	s := ready(t, client, redis.Options{})
	for i := range 30 {
		expires := time.Now().Add(-2 * time.Minute)
		if i == 29 {
			expires = time.Now().Add(time.Minute)
		}
		_, err := s.Put(t.Context(), store.Replies, store.Document{Key: fmt.Sprint(i), Value: []byte(`{}`), Expires: expires})
		check(t, err)
	}
	keys, err := client.Keys(t.Context(), "*doc*").Result()
	check(t, err)
	if slices.Sort(keys); !slices.Equal(keys, []string{"idbuilder:doc:reply:29", "idbuilder:docmeta:reply:29", "idbuilder:docs:reply"}) {
		t.Errorf("left: %q", keys)
	}
}

// TestWaitReplicas checks that a write waits for replicas.
func TestWaitReplicas(t *testing.T) {
	first, second := servers.StartRedis(t), servers.StartRedis(t)
	one, two := clientOf(t, first.Addr), clientOf(t, second.Addr)
	s := ready(t, one, redis.Options{WaitReplicas: 1, WaitTimeout: 10 * time.Millisecond})
	got, err := s.Reserve(t.Context(), "orders", up(10))
	if err == nil || slices.ContainsFunc([]error{store.ErrLost, store.ErrConflict, store.ErrReadOnly}, func(state error) bool { return errors.Is(err, state) }) {
		t.Errorf("without a replica: %+v, %v", got, err)
	}
	follow(t, two, first.Addr, one)
	s = on(t, one, redis.Options{WaitReplicas: 1, WaitTimeout: 20 * time.Second})
	check(t, s.Confirm(t.Context(), 0))
	got, err = s.Reserve(t.Context(), "orders", up(10))
	if err != nil || got.From != 1010 { // the numbers of the unknown outcome are skipped
		t.Errorf("with a replica: %+v, %v", got, err)
	}
	if has := two.Get(t.Context(), "idbuilder:seq:orders").Val(); has != "1020" {
		t.Errorf("the replica has %s", has)
	}
}

// TestSilence checks that calls end with their contexts while the server says
// nothing.
func TestSilence(t *testing.T) {
	server := servers.StartRedis(t)
	s := ready(t, clientOf(t, server.Addr), redis.Options{})
	var ledger storetest.Ledger
	reserve(t, s, &ledger, 10)
	server.Pause(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("enough"))
	defer cancel()
	if _, err := s.Reserve(ctx, "orders", up(10)); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v", err)
	}
	server.Resume(t)
	reserve(t, s, &ledger, 10)
	check(t, ledger.Check(true))
}

// deaf is a connection that loses an answer now and then, after the server has got
// the question.
type deaf struct {
	net.Conn
	reads *atomic.Int64
}

func (c deaf) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.reads.Add(1)%7 == 0 {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// TestLostAnswers loses answers, after which the client sends the call again: no
// number comes twice, and a change that was made is not taken for a conflict.
func TestLostAnswers(t *testing.T) {
	var reads atomic.Int64
	client := goredis.NewClient(&goredis.Options{
		Addr: servers.StartRedis(t).Addr, MinRetryBackoff: -1, MaxRetryBackoff: -1, PoolSize: 2,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, addr)
			return deaf{conn, &reads}, err
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	s := on(t, client, redis.Options{Prefix: "deaf"})
	for s.Init(t.Context()) != nil {
		check(t, t.Context().Err())
	}
	var ledger storetest.Ledger
	version, conflicts := int64(0), 0
	for range 100 {
		if got, err := s.Reserve(t.Context(), "orders", up(3)); err == nil {
			ledger.Add(got)
		}
		next, err := s.Put(t.Context(), store.Configs, store.Document{Key: "a", Value: []byte(`{}`), Version: version})
		switch {
		case err == nil:
			version = next
			if q, err := s.Sequence(t.Context(), "set"); err == nil || errors.Is(err, store.ErrNotFound) {
				if err := s.SetSequence(t.Context(), "set", q.Value+1, q.Version); errors.Is(err, store.ErrConflict) {
					conflicts++
				}
			}
		case errors.Is(err, store.ErrConflict):
			conflicts++
		default: // unknown: look
			if d, err := s.Get(t.Context(), store.Configs, "a"); err == nil {
				version = d.Version
			}
		}
	}
	if err := ledger.Check(true); err != nil || ledger.Len() < 50 || conflicts > 0 || version < 50 {
		t.Errorf("%d ranges, %d conflicts, version %d: %v", ledger.Len(), conflicts, version, err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []redis.Options{{Prefix: "a{b"}, {Prefix: "{}"}, {Prefix: "a}b{c}"}, {Prefix: "a\n"}, {WaitReplicas: -1}, {WaitTimeout: -1}, {WaitTimeout: time.Microsecond}} {
		if _, err := redis.New(goredis.NewClient(&goredis.Options{}), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	ring := goredis.NewRing(&goredis.RingOptions{Addrs: maps.Clone(map[string]string{"a": "localhost:1"})})
	defer func() { _ = ring.Close() }()
	if _, err := redis.New(ring, redis.Options{}); err == nil {
		t.Error("a ring is accepted")
	}
	if _, err := redis.New(nil, redis.Options{}); err == nil {
		t.Error("no client is accepted")
	}
}
