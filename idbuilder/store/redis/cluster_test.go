// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/ledger"
	"github.com/kazahana-db/kazahana/idbuilder/store/redis"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// startCluster starts three masters, each with a third of the slots, and returns
// their addresses.
func startCluster(t *testing.T) (addrs []string) {
	t.Helper()
	clients := make([]*goredis.Client, 3)
	for i := range clients {
		server := servers.StartRedis(t, "--cluster-enabled", "yes")
		addrs = append(addrs, server.Addr)
		clients[i] = clientOf(t, server.Addr)
		check(t, clients[i].ClusterAddSlotsRange(t.Context(), i*16384/3, (i+1)*16384/3-1).Err())
		check(t, clients[i].Do(t.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		host, port, err := net.SplitHostPort(server.Addr)
		check(t, err)
		if i > 0 {
			check(t, clients[0].ClusterMeet(t.Context(), host, port).Err())
		}
	}
	for _, client := range clients {
		for {
			info, err := client.ClusterInfo(t.Context()).Result()
			check(t, err)
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") {
				break
			}
			time.Sleep(10 * time.Millisecond) // other processes work
		}
	}
	return addrs
}

// TestCluster runs the contract on a cluster, where all keys of a script must lie in one
// slot, and then moves the slot to another master.
func TestCluster(t *testing.T) {
	addrs := startCluster(t)
	open := func(t *testing.T, name string) store.Store {
		client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
		t.Cleanup(func() { check(t, client.Close()) })
		return newStore(t, client, redis.Options{Prefix: name})
	}
	storetest.Run(t, storetest.Suite{Open: open})
	t.Run("replicas", func(t *testing.T) { checkWait(t, addrs) })
	t.Run("another master", func(t *testing.T) {
		s := open(t, "moved").(*redis.Store)
		check(t, s.Init(t.Context()))
		var given ledger.Ledger
		reserve(t, s, &given, 10)
		moveSlot(t, addrs, "{moved}")
		wantLost(t, s)
		check(t, s.Confirm(t.Context(), 0))
		reserve(t, s, &given, 10)
		waiting := open(t, "moved")
		reserve(t, waiting.(*redis.Store), &given, 10)
		check(t, given.Check(false))
	})
}

// moveSlot moves the slot of a key to another master, as redis-cli does.
func moveSlot(t *testing.T, addrs []string, key string) {
	t.Helper()
	ctx := t.Context()
	var slot int64
	var ids []string
	var clients []*goredis.Client
	for _, addr := range addrs {
		client := clientOf(t, addr)
		clients = append(clients, client)
		id, err := client.Do(ctx, "CLUSTER", "MYID").Text()
		check(t, err)
		ids = append(ids, id)
		slot, err = client.ClusterKeySlot(ctx, key).Result()
		check(t, err)
	}
	from := int(slot) * 3 / 16384
	to := (from + 1) % 3
	check(t, clients[to].Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[from]).Err())
	check(t, clients[from].Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to]).Err())
	keys, err := clients[from].ClusterGetKeysInSlot(ctx, int(slot), 1000).Result()
	check(t, err)
	host, port, err := net.SplitHostPort(addrs[to])
	check(t, err)
	for _, key := range keys {
		check(t, clients[from].Migrate(ctx, host, port, key, 0, 10*time.Second).Err())
	}
	for i := range clients {
		node := clients[(to+i)%3] // the new master first
		check(t, node.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", ids[to]).Err())
	}
}

// checkWait checks that a call which waits for replicas, of which there are none, asks the
// right master.
func checkWait(t *testing.T, addrs []string) {
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { check(t, client.Close()) })
	initStore(t, client, redis.Options{Prefix: "waits"})
	s := newStore(t, client, redis.Options{Prefix: "waits", WaitReplicas: 1, WaitTimeout: time.Millisecond})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			_, err := s.Advance(t.Context())
			if err == nil || !strings.Contains(err.Error(), "0 of 1 replicas") || errors.Is(err, store.ErrReadOnly) {
				t.Errorf("got %v", err)
			}
		})
	}
	group.Wait()
	if n, err := s.Revision(t.Context()); err != nil || n != 4 {
		t.Errorf("the revision is %d, %v", n, err)
	}
}
