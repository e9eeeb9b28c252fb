// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// TestErrorsOfTheStore: each error of the store has a code of its own, and its answer shows none of
// the store's internals.
func TestErrorsOfTheStore(t *testing.T) { synctest.Test(t, testErrorsOfTheStore) }

func testErrorsOfTheStore(t *testing.T) {
	var fault atomic.Pointer[storetest.Fault]
	s := startOn(t, storetest.Faulty(storetest.Memory(t), func(c storetest.Call) storetest.Fault {
		if f := fault.Load(); f != nil && c.Method == "List" {
			return *f
		}
		return storetest.Fault{}
	}), options())
	for _, c := range []struct {
		fault        storetest.Fault
		status, code int
		says         string
	}{
		{storetest.Fault{Fail: true, Err: fmt.Errorf("list: %w", store.ErrLost)}, 503, 4002, "may have lost data; no IDs are given until an operator confirms"},
		{storetest.Fault{Fail: true, Err: &store.CorruptError{Where: "file a.json", Reason: "torn"}}, 500, 4001, "damaged: file a.json"},
		{storetest.Fault{Fail: true, Err: fmt.Errorf("list: %w", context.DeadlineExceeded)}, 503, 4002, "did not answer in time"},
		{storetest.Fault{Fail: true, Err: errors.New("dial: secret")}, 503, 4002, "repeat the request"},
		{storetest.Fault{Before: func(context.Context) { panic("secret") }}, 500, 4001, "its trace id is "},
	} {
		fault.Store(&c.fault)
		s.wantRefusal("GET", "/v1/config/list", "", c.status, c.code, c.says)
		if a := s.send("GET", "/v1/config/list", adminToken, ""); strings.Contains(a.text, "secret") || a.header.Get("X-Trace-Id") == "" {
			t.Errorf("the answer is %v %s", a.header, a.text)
		}
	}
}

// TestContentLength: an answer over HTTP has its length, whether the worker or net/http sets it.
func TestContentLength(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
	server := httptest.NewServer(s.Worker)
	defer server.Close()
	client := http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	for _, size := range []int{1, 150, 1000} {
		r, _ := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/v1/id/increment?key=k&size=%d", server.URL, size), nil)
		r.Header.Set("Authorization", adminToken)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.ContentLength != int64(len(body)) || response.StatusCode != http.StatusOK || err != nil {
			t.Errorf("%d IDs: %s, Content-Length %d for %d bytes, %v", size, response.Status, response.ContentLength, len(body), err)
		}
	}
}

// TestRefusedTokens: the answer tells a missing token, an expired one, and one of too many unknown
// ones apart.
func TestRefusedTokens(t *testing.T) { synctest.Test(t, testRefusedTokens) }

func testRefusedTokens(t *testing.T) {
	o := options()
	o.TokenLookups, o.TokenExpiry = 2, time.Minute
	s := start(t, o)
	text := s.sendAsAdmin("GET", "/v1/auth/token?key=k", "").data["token"].(string)
	if a := s.send("GET", "/v1/id/increment?key=k", text, ""); a.code != 3001 {
		t.Error(a.text)
	}
	if a := s.send("GET", "/v1/id/increment?key=k", "", ""); a.code != 2001 || !strings.Contains(a.message, "missing") {
		t.Error(a.text)
	}
	for _, unknown := range []string{"unknown", "unknown as well"} {
		if a := s.send("GET", "/v1/id/increment?key=k", unknown, ""); a.code != 2001 || !strings.Contains(a.message, "the token is unknown") {
			t.Error(a.text)
		}
	}
	if a := s.send("GET", "/v1/id/increment?key=k", "unknown too", ""); a.status != 429 || a.code != 4002 || a.header.Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", a.status, a.header, a.text)
	}
	time.Sleep(time.Minute)
	if a := s.send("GET", "/v1/id/increment?key=k", text, ""); a.code != 2001 || !strings.Contains(a.message, "expired") {
		t.Error(a.text)
	}
}

// TestRepeatedSave: a repeated request moves no sequence; of two changes at once, one is
// made after the other.
func TestRepeatedSave(t *testing.T) { synctest.Test(t, testRepeatedSave) }

func testRepeatedSave(t *testing.T) {
	var conflicts atomic.Int64
	shared := storetest.Memory(t)
	a := startOn(t, storetest.Faulty(shared, func(c storetest.Call) storetest.Fault {
		conflict := c.Method == "Put" && c.Kind == store.Configs && conflicts.Add(-1) >= 0
		return storetest.Fault{Fail: conflict, Err: store.ErrConflict}
	}), options())
	b := startOn(t, shared, options())
	seen := map[string]bool{}
	for i := range 4 {
		conflicts.Store(int64(i))
		a.sendAsAdmin("POST", "/v1/config/increment", fmt.Sprintf(`{"key": "k", "base": 0, "max_request_delta": %d}`, i+1))
		for range 3 {
			for _, w := range []service{a, b} {
				id := w.sendAsAdmin("GET", "/v1/id/increment?key=k", "").ids(t)[0]
				if seen[id] {
					t.Errorf("after %d repetitions the ID %s came twice", i, id)
				}
				seen[id] = true
			}
		}
		if i == 0 {
			time.Sleep(11 * time.Minute) // both give back or forget the numbers in their memory
		}
	}
	if current := fmt.Sprint(b.sendAsAdmin("GET", "/v1/config/increment?key=k", "").data["current"]); current == "0" {
		t.Errorf("current is %s", current)
	}
	a.sendAsAdmin("DELETE", "/v1/config/increment?key=k", "")
	a.sendAsAdmin("POST", "/v1/config/increment", `{"name": "k", "start": 1}`) // it does not exist: not a conflict
	a.sendAsAdmin("POST", "/v1/config/increment", `{"key": "few", "base": 0, "max": 3}`)
	a.sendAsAdmin("GET", "/v1/id/increment?key=few", "")
	a.wantRefusal("GET", "/v1/id/increment?key=few&size=3", "", 503, 4003, "at most 2 further")
}

// TestOptions: each wrong option is named as it is in [worker.Options], all at once.
func TestOptions(t *testing.T) {
	err := worker.Options{
		AdminToken: "short", TokenExpiry: 1, TokenLookups: -1, Validity: -1, Margin: -1, Outage: 1 << 60,
		BatchSize: -1, MaxBatch: -2, BatchDuration: -1, PrefetchThreshold: -1, ReserveTimeout: -1, MinBackoff: -1, MaxBackoff: -2,
		LeaseDuration: -1, LeaseHold: -1, LeaseSkew: 1 << 60,
		Rate: -1, Burst: -1, Timeout: -1, MaxBody: -1, ReplyLifetime: -1, Idle: -1,
	}.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	var missing []string
	for _, name := range []string{
		"TokenExpiry", "TokenLookups", "Validity", "Margin", "Outage",
		"BatchSize", "MaxBatch", "BatchDuration", "PrefetchThreshold", "ReserveTimeout", "MinBackoff", "MaxBackoff",
		"LeaseDuration", "LeaseHold", "LeaseSkew", "Rate", "Burst", "Timeout", "MaxBody", "ReplyLifetime", "Idle",
	} {
		if !strings.Contains(err.Error(), "idbuilder: "+name+" is ") {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 || !strings.Contains(err.Error(), "the admin token has 5 bytes") {
		t.Errorf("%q are not named in:\n%v", missing, err)
	}
}

// TestKeysAreForgotten: a worker forgets a key once it was not used for the idle time, and not before.
func TestKeysAreForgotten(t *testing.T) { synctest.Test(t, testKeysAreForgotten) }

func testKeysAreForgotten(t *testing.T) {
	o := options()
	o.Idle = time.Minute
	s := start(t, o)
	loads := func() (n int) {
		for range s.KeyLoads() {
			n++
		}
		return n
	}
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
	for range 6 {
		s.sendAsAdmin("GET", "/v1/id/increment?key=k", "")
		time.Sleep(30 * time.Second)
	}
	if n := loads(); n != 1 {
		t.Errorf("a key in use: %d keys in memory", n)
	}
	time.Sleep(2 * time.Minute)
	if n := loads(); n != 0 {
		t.Errorf("a key that is not used: %d keys in memory", n)
	}
}

// slowStore counts pings, each of which waits until the test lets it go on.
type slowStore struct {
	store.Store
	pings atomic.Int64 // without those that were ended
	let   chan error
	late  time.Duration // for which a ping goes on after its end
}

func (s *slowStore) Ping(ctx context.Context) error {
	s.pings.Add(1)
	select {
	case err := <-s.let:
		return err
	case <-ctx.Done():
		time.Sleep(s.late)
		s.pings.Add(-1)
		return context.Cause(ctx)
	}
}

// TestCloseEndsPing: no ping runs or begins after Close, which closes the store.
func TestCloseEndsPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: storetest.Memory(t), late: time.Millisecond}
		w := startOn(t, s, options()).Worker
		var group sync.WaitGroup
		group.Go(func() { w.Ready(t.Context()) })
		synctest.Wait()
		if n := s.pings.Load(); n != 1 {
			t.Fatalf("%d pings, want 1", n)
		}
		_ = w.Close(t.Context())
		if n := s.pings.Load(); n != 0 {
			t.Errorf("%d pings after Close", n)
		}
		group.Wait()
		time.Sleep(time.Minute)
		if r := w.Ready(t.Context()); r.Ready {
			t.Error("a closed worker is ready")
		}
	})
}

// TestManyAskWhetherReady: questions whether a worker is ready share a ping, which most stores
// answer by a durable write, with those at the same time and within a second.
func TestManyAskWhetherReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: storetest.Memory(t), let: make(chan error)}
		o, logged := options(), &strings.Builder{}
		o.Logger = slog.New(slog.NewTextHandler(logged, nil)) // it has a lock
		w := startOn(t, s, o).Worker
		ask := func(n int, want bool) {
			t.Helper()
			var group sync.WaitGroup
			for range n {
				group.Go(func() {
					if r := w.Ready(t.Context()); r.Ready != want {
						t.Errorf("%+v, want ready %v", r, want)
					}
				})
			}
			synctest.Wait()
			select {
			case s.let <- map[bool]error{false: errors.New("no store")}[want]:
			default:
			}
			group.Wait()
		}
		ask(1000, true)
		time.Sleep(time.Second - 1)
		ask(1000, true)
		if n := s.pings.Load(); n != 1 {
			t.Errorf("%d pings within a second, want 1", n)
		}
		time.Sleep(time.Nanosecond)
		ask(1000, false)
		if n := s.pings.Load(); n != 2 {
			t.Errorf("%d pings, want 2", n)
		}
		if n := strings.Count(logged.String(), "the store does not answer"); n != 1 {
			t.Errorf("one failed ping is logged %d times", n)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		time.Sleep(time.Second)
		_ = w.Ready(ended) // gives up; the ping goes on for others
		ask(1, true)
	})
}
