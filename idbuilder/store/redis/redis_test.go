// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/ledger"
	"github.com/kazahana-db/kazahana/idbuilder/store/redis"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
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

// newStore returns a store that is not initialised.
func newStore(t *testing.T, client goredis.UniversalClient, o redis.Options) *redis.Store {
	t.Helper()
	s, err := redis.New(client, o)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

// initStore returns an initialised store.
func initStore(t *testing.T, client goredis.UniversalClient, o redis.Options) *redis.Store {
	t.Helper()
	s := newStore(t, client, o)
	check(t, s.Init(t.Context()))
	return s
}

func TestStore(t *testing.T) {
	server := servers.StartRedis(t)
	storetest.Run(t, storetest.Suite{
		Open: func(t *testing.T, name string) store.Store {
			return newStore(t, clientOf(t, server.Addr), redis.Options{Prefix: name})
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
				check(t, newStore(t, client, redis.Options{Prefix: name}).Confirm(ctx, 0)) // the promotion
			}
		},
	})
}

func up(count int64) store.Reservation {
	return store.Reservation{Start: 1000, Step: 1, Count: count, Bound: math.MaxInt64}
}

// reserve reserves, and enters the range into the ledger.
func reserve(t *testing.T, s store.Store, l *ledger.Ledger, count int64) {
	t.Helper()
	got, err := s.Reserve(t.Context(), "orders", up(count))
	check(t, err)
	l.Add(got)
}

// TestKeys checks that keys and values are as they are specified.
func TestKeys(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	s := initStore(t, client, redis.Options{})
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

// TestFormats reads what earlier versions stored in a Redis, and stores it.
func TestFormats(t *testing.T) {
	expires := time.Date(2100, 1, 2, 3, 4, 5, 6e6, time.UTC)
	formats.Check(t, formats.Format{
		Name: "idbuilder/redis",
		Write: func(t *testing.T) string {
			client := clientOf(t, servers.StartRedis(t).Addr)
			s := initStore(t, client, redis.Options{})
			for range 2 {
				_, err := s.Reserve(t.Context(), "orders", up(10))
				check(t, err)
			}
			_, err := s.Put(t.Context(), store.Configs, store.Document{Key: "orders", Type: "increment", Value: []byte(`{"base": 1000}`)})
			check(t, err)
			_, err = s.Put(t.Context(), store.Replies, store.Document{Key: "r", Value: []byte(`{"text":"é\n"}`), Expires: expires})
			check(t, err)
			_, err = s.Advance(t.Context())
			check(t, err)
			return servers.DumpRedis(t, client)
		},
		Mask: func(_ *testing.T, example string) string { // run ids, marks, times of documents
			return regexp.MustCompile(`[0-9a-f]{40}|[A-Z2-7]{26}|"\d{16}"`).ReplaceAllString(example, "<random>")
		},
		Read: func(t *testing.T, example string) {
			client := clientOf(t, servers.StartRedis(t).Addr)
			servers.LoadRedis(t, client, example)
			s := newStore(t, client, redis.Options{})
			d, err := s.Get(t.Context(), store.Configs, "orders")
			if err != nil || d.Type != "increment" || string(d.Value) != `{"base": 1000}` || d.Version != 1 || !strings.Contains(example, fmt.Sprintf(`"created" "%d"`, d.Created.UnixMicro())) {
				t.Errorf("the configuration is %+v, %v", d, err)
			}
			if d, err = s.Get(t.Context(), store.Replies, "r"); err != nil || string(d.Value) != `{"text":"é\n"}` || d.Version != 2 || !d.Expires.Equal(expires) {
				t.Errorf("the reply is %+v, %v", d, err)
			}
			if n, err := s.Revision(t.Context()); err != nil || n != 1 {
				t.Errorf("the revision is %d, %v", n, err)
			}
			if err := s.Init(t.Context()); !errors.Is(err, store.ErrLost) { // the run id is another
				t.Errorf("another server gives numbers: %v", err)
			}
			check(t, s.Confirm(t.Context(), 5))
			check(t, s.Init(t.Context()))
			if got, err := s.Reserve(t.Context(), "orders", up(10)); err != nil || got.From != 1025 || got.To != 1035 || got.Version != 1<<32+3 {
				t.Errorf("after the confirmation: %+v, %v", got, err)
			}
		},
	})
}

// TestAdopted reserves from a sequence that another program has made.
func TestAdopted(t *testing.T) {
	client := clientOf(t, servers.StartRedis(t).Addr)
	s := initStore(t, client, redis.Options{Prefix: "adopted"})
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
	s := initStore(t, client, redis.Options{})
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
