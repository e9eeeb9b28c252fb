// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"errors"
	"net"
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

// TestForgotten checks that stores notice data that disappears while the server runs.
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
			s, other := initStore(t, client, redis.Options{Prefix: name}), initStore(t, client, redis.Options{Prefix: name})
			var given ledger.Ledger
			for range 4 {
				reserve(t, s, &given, 10)
			}
			check(t, forget(name))
			wantLost(t, s, other)
			check(t, s.Confirm(t.Context(), 1000))
			reserve(t, other, &given, 10)
			reserve(t, s, &given, 10)
			check(t, given.Check(true))
		})
	}
	s := initStore(t, client, redis.Options{})
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

// TestStaleVersion checks that a worker that knows the sequence from before the
// confirmation does not give skipped numbers back.
func TestStaleVersion(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	s := initStore(t, client, redis.Options{Prefix: "stale"})
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

// TestForgottenConfirmation checks that versions and the revision still grow if a second
// failover loses the writes of the first one's confirmation.
func TestForgottenConfirmation(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	s := initStore(t, client, redis.Options{Prefix: "p"})
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

// TestSilence checks that calls end with their contexts while the server does not
// answer.
func TestSilence(t *testing.T) {
	server := servers.StartRedis(t)
	s := initStore(t, clientOf(t, server.Addr), redis.Options{})
	var given ledger.Ledger
	reserve(t, s, &given, 10)
	server.Pause(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("enough"))
	defer cancel()
	if _, err := s.Reserve(ctx, "orders", up(10)); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v", err)
	}
	server.Resume(t)
	reserve(t, s, &given, 10)
	check(t, given.Check(true))
}

// deaf is a connection that sometimes loses an answer, after the server has got the
// request.
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
// number comes twice, and a change that was made is not reported as a conflict.
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
	s := newStore(t, client, redis.Options{Prefix: "deaf"})
	for s.Init(t.Context()) != nil {
		check(t, t.Context().Err())
	}
	var given ledger.Ledger
	version, conflicts := int64(0), 0
	for range 100 {
		if got, err := s.Reserve(t.Context(), "orders", up(3)); err == nil {
			given.Add(got)
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
		default: // unknown: read it
			if d, err := s.Get(t.Context(), store.Configs, "a"); err == nil {
				version = d.Version
			}
		}
	}
	if err := given.Check(true); err != nil || given.Len() < 50 || conflicts > 0 || version < 50 {
		t.Errorf("%d ranges, %d conflicts, version %d: %v", given.Len(), conflicts, version, err)
	}
}
