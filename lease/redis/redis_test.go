// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/internal/servers"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/lease/redis"
)

// workServer names the server and prefix of a process that TestStore starts.
const workServer = "KAZAHANA_REDIS_WORK"

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

// work is a process that acquires leases.
func work(where string) (err error) {
	addr, prefix, _ := strings.Cut(where, " ")
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer func() { err = errors.Join(err, client.Close()) }()
	store, err := redis.New(client, redis.Options{Prefix: prefix})
	if err != nil {
		return err
	}
	return leasetest.Work(context.Background(), store, os.Stdout)
}

// open returns a store with a client of its own.
func open(t *testing.T, addr string, options redis.Options) (*redis.Store, *goredis.Client) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	store, err := redis.New(client, options)
	if err != nil {
		t.Fatal(err)
	}
	return store, client
}

func TestStore(t *testing.T) {
	server := servers.StartRedis(t)
	leasetest.Run(t, leasetest.Suite{
		Open: func(t *testing.T, name string) lease.Store {
			store, _ := open(t, server.Addr, redis.Options{Prefix: name})
			return store
		},
		Process: func(t *testing.T, name string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), workServer+"="+server.Addr+" "+name)
			return cmd
		},
	})
}

// TestCluster runs on a server in cluster mode, which refuses scripts with keys in
// different slots.
func TestCluster(t *testing.T) {
	server := servers.StartRedis(t, "--cluster-enabled", "yes")
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{server.Addr}})
	t.Cleanup(func() { _ = client.Close() })
	formCluster(t, server.Addr)
	store, err := redis.New(client, redis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := newServer(t, store, lease.Options{Fresh: true})
	for _, service := range []string{"a", "b", "team/orders:2"} {
		var ledger leasetest.Ledger
		for range 10 {
			if err := ledger.AddGrant(acquire(t, n, service)); err != nil {
				t.Error(err)
			}
		}
	}
}

// formCluster gives all slots to a server in cluster mode, and waits until it has
// taken them.
func formCluster(t *testing.T, addr string) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	ctx := t.Context()
	if err := client.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for {
		info, err := client.ClusterInfo(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			return
		}
	}
}

func newServer(t *testing.T, store lease.Store, options lease.Options) *lease.Server {
	t.Helper()
	server, err := lease.NewServer(store, options)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func acquire(t *testing.T, n *lease.Server, service string) idgen.Lease {
	t.Helper()
	leases, err := n.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: service})
	if err != nil {
		t.Fatal(err)
	}
	return leases[0]
}

// TestTimeIsThatOfRedis checks that a lease begins when Redis says so.
func TestTimeIsThatOfRedis(t *testing.T) {
	store, client := open(t, servers.StartRedis(t).Addr, redis.Options{})
	clock := func() int64 {
		now, err := client.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return now.UnixMilli()
	}
	before := clock()
	if l := acquire(t, newServer(t, store, lease.Options{Fresh: true}), ""); l.Created < before || l.Created > clock() {
		t.Errorf("a lease begins at %d, not between %d and %d", l.Created, before, clock())
	}
}

// TestFlush checks that a store which is emptied while servers run leads to
// quarantine, although they were told that it is new.
func TestFlush(t *testing.T) {
	store, client := open(t, servers.StartRedis(t).Addr, redis.Options{})
	n := newServer(t, store, lease.Options{Fresh: true})
	acquire(t, n, "")
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	wantQuarantine(t, n)
}

func wantQuarantine(t *testing.T, n *lease.Server) {
	t.Helper()
	if _, err := n.Acquire(t.Context(), idgen.AcquireRequest{}); !errors.Is(err, lease.ErrQuarantine) {
		t.Errorf("got %v, want ErrQuarantine", err)
	}
}

// TestRestart checks that a server which was restarted, and may have lost the
// last writes, leads to quarantine, unless it is durable.
func TestRestart(t *testing.T) {
	server := servers.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	options := lease.Options{Fresh: true}
	store, _ := open(t, server.Addr, redis.Options{})
	durable, _ := open(t, server.Addr, redis.Options{Durable: true, Prefix: "durable"})
	before, lasting := newServer(t, store, options), newServer(t, durable, options)
	acquire(t, before, "")
	l := acquire(t, lasting, "")
	server.Restart(t)
	wantQuarantine(t, before)
	wantQuarantine(t, newServer(t, store, options))
	var ledger leasetest.Ledger
	if err := ledger.AddGrant(l, acquire(t, lasting, ""), acquire(t, newServer(t, durable, options), "")); err != nil {
		t.Error(err)
	}
}

// TestRestartUnderATransaction restarts the server between the beginning of a
// transaction and its commit. It runs again, so that it sees the other server:
// otherwise a lease could be granted by what the restart has lost.
func TestRestartUnderATransaction(t *testing.T) {
	server := servers.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	store, _ := open(t, server.Addr, redis.Options{})
	var lives []string
	err := store.Update(t.Context(), "s", func(tx lease.Tx) error {
		lives = append(lives, tx.Incarnation())
		if len(lives) == 1 {
			server.Restart(t)
		}
		_, err := tx.Get(t.Context(), []byte("a"))
		tx.Set([]byte("a"), []byte("1"))
		return err
	})
	if err != nil || len(lives) != 2 || lives[0] == lives[1] {
		t.Errorf("it ran in %q: %v", lives, err)
	}
}

// TestEviction checks that the loss of either key is noticed or made good.
func TestEviction(t *testing.T) {
	store, client := open(t, servers.StartRedis(t).Addr, redis.Options{})
	n := newServer(t, store, lease.Options{Fresh: true})
	var ledger leasetest.Ledger
	for range 3 {
		if err := ledger.AddGrant(acquire(t, n, "")); err != nil {
			t.Fatal(err)
		}
		if err := client.Del(t.Context(), "kazahana:{default}:keys").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := n.List(t.Context(), "", lease.ListOptions{}); err != nil || len(page.Leases) != 3 {
		t.Errorf("with the index made again there are %d leases, want 3: %v", len(page.Leases), err)
	}
	if err := client.Del(t.Context(), "kazahana:{default}:values").Err(); err != nil {
		t.Fatal(err)
	}
	wantQuarantine(t, n)
	if page, err := n.List(t.Context(), "", lease.ListOptions{Ended: true}); err != nil || len(page.Leases) != 0 {
		t.Errorf("without values there are %d leases: %v", len(page.Leases), err)
	}
}

// TestUnreachable checks the errors while no server answers.
func TestUnreachable(t *testing.T) {
	server := servers.StartRedis(t)
	store, _ := open(t, server.Addr, redis.Options{})
	n := newServer(t, store, lease.Options{Fresh: true})
	acquire(t, n, "")
	server.Kill(t)
	if _, err := n.Acquire(t.Context(), idgen.AcquireRequest{}); err == nil || !strings.Contains(err.Error(), "redis: begin") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if _, err := n.Acquire(ctx, idgen.AcquireRequest{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
}

// TestContextEndsACommand has a server that takes a command and never answers: the call
// ends with its context, although the client would wait for its own timeout.
func TestContextEndsACommand(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				close(connections)
				return
			}
			connections <- c
		}
	}()
	client := goredis.NewClient(&goredis.Options{Addr: listener.Addr().String(), ReadTimeout: 30 * time.Second, MaxRetries: -1})
	store, err := redis.New(client, redis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	for what, call := range map[string]func(context.Context) error{
		"Update": func(ctx context.Context) error {
			return store.Update(ctx, "s", func(lease.Tx) error { return nil })
		},
		"Services": func(ctx context.Context) error {
			_, err := store.Services(ctx, "", 1)
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		result := make(chan error)
		go func() { result <- call(ctx) }()
		silent := <-connections
		if _, err := silent.Read(make([]byte, 1)); err != nil { // it has sent something
			t.Error(err)
		}
		cancel(enough)
		if err := <-result; !errors.Is(err, enough) {
			t.Errorf("%s: got %v, want the context's cause", what, err)
		}
		if err := silent.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(client.Close(), listener.Close()); err != nil {
		t.Error(err)
	}
	for c := range connections {
		_ = c.Close()
	}
}

// TestKeysOfOthers: the first lease of a service that is not configured, for which a
// server lists all services, costs no look at the keys of others in the Redis.
func TestKeysOfOthers(t *testing.T) {
	store, client := open(t, servers.StartRedis(t).Addr, redis.Options{})
	if err := client.MSet(t.Context(), "a", 1, "kazahana:{b}:keys", 1).Err(); err != nil {
		t.Fatal(err)
	}
	n := newServer(t, store, lease.Options{Fresh: true})
	for _, service := range []string{"", "orders", "billing"} {
		acquire(t, n, service)
	}
	services, err := n.Services(t.Context(), "", 0)
	if want := []string{"billing", "default", "orders"}; err != nil || !slices.Equal(services, want) {
		t.Errorf("services %q, %v; want %q", services, err, want)
	}
	stats, err := client.Info(t.Context(), "commandstats").Result()
	if err != nil || strings.Contains(stats, "cmdstat_scan:") || strings.Contains(stats, "cmdstat_keys:") {
		t.Errorf("all keys of the Redis were looked at: %v, %s", err, stats)
	}
	// One that an earlier version has made, or that another listing took for removed.
	if err := client.Del(t.Context(), "kazahana:services").Err(); err != nil {
		t.Fatal(err)
	}
	acquire(t, n, "orders")
	if services, err = n.Services(t.Context(), "", 0); err != nil || !slices.Equal(services, []string{"orders"}) {
		t.Errorf("services %q, %v; want the one that was leased from since", services, err)
	}
}

func TestPrefix(t *testing.T) {
	if _, err := redis.New(nil, redis.Options{Prefix: "a{b"}); err == nil {
		t.Error("a prefix with a brace is accepted")
	}
}

// TestFormats reads what earlier versions stored in a Redis, and stores it. The records are
// those of package lease; the times are the server's.
func TestFormats(t *testing.T) {
	small := lease.Options{Fresh: true}
	small.Default.Layout = idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 16, TimestampBits: 41, MachineBits: 2, SequenceBits: 5}
	held := regexp.MustCompile(`\\"created\\":(\d{13}),\\"expired\\":(\d{13}),\\"secret`)
	formats.Check(t, formats.Format{
		Name: "lease/redis",
		Write: func(t *testing.T) string {
			store, client := open(t, servers.StartRedis(t).Addr, redis.Options{})
			n := newServer(t, store, small)
			acquire(t, n, "")
			acquire(t, n, "orders")
			return servers.DumpRedis(t, client)
		},
		Mask: func(_ *testing.T, example string) string {
			return regexp.MustCompile(`(0x71..)[0-9a-f]{16}|[0-9a-f]{40}|[0-9a-f]{32}|\d{13}|"1[0-9a-f]{8} `).ReplaceAllString(example, "${1}<random>")
		},
		Read: func(t *testing.T, example string) {
			store, client := open(t, servers.StartRedis(t).Addr, redis.Options{})
			servers.LoadRedis(t, client, example)
			n := newServer(t, store, small)
			services, err := n.Services(t.Context(), "", 0)
			if want := []string{"default", "orders"}; err != nil || !slices.Equal(services, want) {
				t.Errorf("services %q, %v; want %q", services, err, want)
			}
			for i, service := range services {
				page, err := n.List(t.Context(), service, lease.ListOptions{Ended: true})
				if err != nil || len(page.Leases) != 1 {
					t.Fatalf("the leases of %s are %+v, %v", service, page, err)
				}
				l := page.Leases[0]
				if got := fmt.Sprint(l.Created.UnixMilli(), l.Expired.UnixMilli()); got != strings.Join(held.FindAllStringSubmatch(example, -1)[i][1:], " ") {
					t.Errorf("the lease of %s is %+v", service, l)
				}
				var quarantine *refusal.QuarantineError // the server's run id is another
				if _, err := n.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: service}); !errors.As(err, &quarantine) {
					t.Errorf("a server that lost %s grants: %v", service, err)
				}
			}
		},
	})
}
