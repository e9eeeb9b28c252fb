// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idgen"
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

// TestCluster runs on a server in cluster mode, which refuses scripts whose keys
// do not share a slot.
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
// otherwise a lease could be granted by what was lost meanwhile.
func TestRestartUnderATransaction(t *testing.T) {
	server := servers.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	store, _ := open(t, server.Addr, redis.Options{})
	var lives []string
	err := store.Update(t.Context(), "s", func(tx lease.Tx) error {
		lives = append(lives, tx.(lease.IncarnationTx).Incarnation())
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

func TestPrefix(t *testing.T) {
	if _, err := redis.New(nil, redis.Options{Prefix: "a{b"}); err == nil {
		t.Error("a prefix with a brace is accepted")
	}
}
