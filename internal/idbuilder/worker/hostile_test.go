// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"errors"
	"fmt"
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

// silenced returns a store that fails each Advance while silent is set: a process seems to
// crash between a change and its announcement.
func silenced(s store.Store, silent *atomic.Bool) store.Store {
	return storetest.Faulty(s, func(c storetest.Call) storetest.Fault {
		return storetest.Fault{Fail: c.Method == "Advance" && silent.Load()}
	})
}

// TestUnannouncedChange: if the announcement of a change fails, all workers use the change after a
// minute, or at once when the request is repeated.
func TestUnannouncedChange(t *testing.T) { synctest.Test(t, testUnannouncedChange) }

func testUnannouncedChange(t *testing.T) {
	var silent atomic.Bool
	shared := storetest.Memory(t)
	s, other := startOn(t, silenced(shared, &silent), options()), startOn(t, shared, options())
	save := func(delta int) string {
		return fmt.Sprintf(`{"key": "k", "base": 0, "max_request_delta": %d}`, delta)
	}
	allows := func(delta int) bool {
		return other.send("GET", fmt.Sprintf("/v1/id/increment?key=k&delta=%d", delta), adminToken, "").status == http.StatusOK
	}
	s.sendAsAdmin("POST", "/v1/config/increment", save(100))
	if !allows(100) {
		t.Fatal("a delta of 100 is refused")
	}
	silent.Store(true)
	s.wantRefusal("POST", "/v1/config/increment", save(10), 503, 4002, "the change is stored, but other workers may not have seen it yet; repeat")
	if !allows(100) {
		t.Error("a change that was not announced is in force at once: this test does not test anything")
	}
	time.Sleep(time.Minute)
	if allows(100) {
		t.Error("a minute later the old configuration is in use")
	}
	s.wantRefusal("POST", "/v1/config/increment", save(200), 503, 4002, "repeat")
	silent.Store(false)
	s.sendAsAdmin("POST", "/v1/config/increment", save(200))
	if !allows(200) {
		t.Error("after the request was repeated, the old configuration is in use")
	}
}

// TestUnconfirmedReset: if a reset is stored, but cannot be announced, the answer says how to get
// the new token, which is valid; a repetition ends the old one everywhere.
func TestUnconfirmedReset(t *testing.T) { synctest.Test(t, testUnconfirmedReset) }

func testUnconfirmedReset(t *testing.T) {
	var silent atomic.Bool
	shared := storetest.Memory(t)
	s, other := startOn(t, silenced(shared, &silent), options()), startOn(t, shared, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
	token := func(path string) string { return s.sendAsAdmin("GET", path+"?key=k", "").data["token"].(string) }
	status := func(token string) int { return other.send("GET", "/v1/id/increment?key=k", token, "").status }
	old := token("/v1/auth/token")
	if status(old) != http.StatusOK {
		t.Fatal("the token is refused")
	}
	silent.Store(true)
	s.wantRefusal("GET", "/v1/auth/tokenreset?key=k", "", 503, 4002, "which GET /v1/auth/token returns")
	if next := token("/v1/auth/token"); next == old || status(next) != http.StatusOK {
		t.Errorf("after the reset the token is %q, status %d", next, status(next))
	}
	silent.Store(false)
	next := token("/v1/auth/tokenreset")
	if status(old) != http.StatusUnauthorized || status(next) != http.StatusOK {
		t.Errorf("after the repeated reset: the old token %d, the new one %d", status(old), status(next))
	}
}

// TestRefreshInBackground: a worker uses the old configuration while it reads a new one; no
// request waits for the read.
func TestRefreshInBackground(t *testing.T) { synctest.Test(t, testRefreshInBackground) }

func testRefreshInBackground(t *testing.T) {
	var reads atomic.Int64
	s := startOn(t, storetest.Faulty(storetest.Memory(t), func(c storetest.Call) storetest.Fault {
		if c.Method != "Get" || c.Kind != store.Configs {
			return storetest.Fault{}
		}
		reads.Add(1)
		return storetest.Fault{Before: func(context.Context) { time.Sleep(time.Second) }}
	}), options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
	s.sendAsAdmin("GET", "/v1/id/increment?key=k", "")
	reads.Store(0)
	for range 120 {
		time.Sleep(time.Second)
		begun := time.Now()
		s.sendAsAdmin("GET", "/v1/id/increment?key=k", "")
		if took := time.Since(begun); took > 0 {
			t.Fatalf("a request took %v", took)
		}
	}
	if n := reads.Load(); n < 3 || n > 4 {
		t.Errorf("in two minutes the configuration was read %d times", n)
	}
}

// TestForcedThereAndBack: a worker has numbers in memory; a sequence is forced back and forth, so that
// the configuration is as before when the worker reads it again. The worker does not give the old
// numbers.
func TestForcedThereAndBack(t *testing.T) { synctest.Test(t, testForcedThereAndBack) }

func testForcedThereAndBack(t *testing.T) {
	for name, changes := range map[string][][2]string{
		"base":      {{"increment", `"base": 5000`}, {"increment", `"base": 0`}},
		"direction": {{"increment", `"base": 900, "step": -1`}, {"increment", `"base": 0`}},
		"type":      {{"formatted", `"parts": [{"type": "auto-increment"}]`}, {"increment", `"base": 0`}},
	} {
		shared := storetest.Memory(t)
		a, b := startOn(t, shared, options()), startOn(t, shared, options())
		a.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
		b.sendAsAdmin("GET", "/v1/id/increment?key=k", "")
		for _, c := range changes {
			a.sendAsAdmin("POST", "/v1/config/"+c[0], `{"key": "k", "force": true, `+c[1]+`}`)
		}
		seen := map[string]bool{}
		for range 5 {
			for _, w := range []service{a, b} {
				for _, id := range w.sendAsAdmin("GET", "/v1/id/increment?key=k&size=2", "").ids(t) {
					if seen[id] {
						t.Errorf("%s: after the change the ID %s came twice", name, id)
					}
					seen[id] = true
				}
			}
		}
	}
}

// TestRepeatedLease: a request for a worker id that is repeated with its Idempotency-Key
// renews the lease. It never gets the old answer: its worker id may be another client's by then.
func TestRepeatedLease(t *testing.T) { synctest.Test(t, testRepeatedLease) }

func testRepeatedLease(t *testing.T) {
	o := options()
	o.ReplyLifetime = time.Hour
	s := start(t, o)
	s.sendAsAdmin("POST", "/v1/config/snowflake", `{"key": "k", "base_ts": 1767225600000, "ts_size": 61, "worker_id_size": 1, "seq_size": 1}`)
	ask := func(key string) map[string]any {
		a := s.send("GET", "/v1/id/snowflake?key=k&renews=true", adminToken, "", "Idempotency-Key", key)
		if a.status != http.StatusOK {
			t.Fatal(a.text)
		}
		return a.data
	}
	first := ask("one")
	time.Sleep(5 * time.Minute)
	again := ask("one")
	if fmt.Sprint(again["worker_id"]) != fmt.Sprint(first["worker_id"]) || fmt.Sprint(again["lease_expires"]) <= fmt.Sprint(first["lease_expires"]) {
		t.Errorf("first %v, then %v", first, again)
	}
	time.Sleep(20 * time.Minute) // both worker ids are free
	two, three := ask("two"), ask("three")
	if fmt.Sprint(two["worker_id"]) == fmt.Sprint(three["worker_id"]) {
		t.Fatalf("two clients have %v and %v", two, three)
	}
	if a := s.send("GET", "/v1/id/snowflake?key=k&renews=true", adminToken, "", "Idempotency-Key", "one"); a.status != 503 || a.code != 4003 {
		t.Errorf("all are leased, and a request with an old key got %s", a.text)
	}
}

// TestConcurrentReads: of many requests for a key that is not in memory, one reads the store. Each
// request ends with its own context, and finds every configuration that was stored before it.
func TestConcurrentReads(t *testing.T) { synctest.Test(t, testConcurrentReads) }

func testConcurrentReads(t *testing.T) {
	var reads atomic.Int64
	var slow atomic.Bool
	s := startOn(t, storetest.Faulty(storetest.Memory(t), func(c storetest.Call) storetest.Fault {
		if c.Method != "Get" || c.Kind != store.Configs || !slow.Load() {
			return storetest.Fault{}
		}
		reads.Add(1)
		return storetest.Fault{After: func(context.Context) { time.Sleep(300 * time.Millisecond) }}
	}), options())
	slow.Store(true)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { s.wantRefusal("GET", "/v1/id/increment?key=none", "", 404, 3001, "no configuration") })
	}
	all.Wait()
	if n := reads.Load(); n > 2 {
		t.Errorf("100 requests read the configuration %d times", n)
	}
	go func() { _, _ = s.Increment(t.Context(), nil, worker.IncrementRequest{Key: "k", Size: 1}) }()
	synctest.Wait()
	slow.Store(false)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`) // while the first read is under way
	slow.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Increment(ctx, nil, worker.IncrementRequest{Key: "k", Size: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller with a time limit of a millisecond: %v", err)
	}
	s.sendAsAdmin("GET", "/v1/id/increment?key=k", "")
}

// TestLayoutNotInForce: while a forced change of a layout is incomplete, clients are told to wait,
// not to force it.
func TestLayoutNotInForce(t *testing.T) { synctest.Test(t, testLayoutNotInForce) }

func testLayoutNotInForce(t *testing.T) {
	var silent atomic.Bool
	shared := storetest.Memory(t)
	s, other := startOn(t, silenced(shared, &silent), options()), startOn(t, shared, options())
	save := func(base int64) string {
		return fmt.Sprintf(`{"key": "k", "base_ts": %d, "ts_size": 41, "worker_id_size": 10, "seq_size": 12, "force": true}`, base)
	}
	s.sendAsAdmin("POST", "/v1/config/snowflake", save(1767225600000))
	s.sendAsAdmin("GET", "/v1/id/snowflake?key=k", "")
	silent.Store(true)
	s.wantRefusal("POST", "/v1/config/snowflake", save(1767225700000), 503, 4002, "repeat")
	a := other.send("GET", "/v1/id/snowflake?key=k", adminToken, "")
	if a.status != 503 || a.code != 4002 || a.header.Get("Retry-After") == "" || strings.Contains(a.message, "force") {
		t.Errorf("a client is told %d %v %s", a.status, a.header, a.text)
	}
	silent.Store(false)
	s.sendAsAdmin("POST", "/v1/config/snowflake", save(1767225700000))
	other.sendAsAdmin("GET", "/v1/id/snowflake?key=k", "")
}

// TestExpiredReply: concurrent requests with one Idempotency-Key, after its answer has expired, all
// get the same new answer.
func TestExpiredReply(t *testing.T) { synctest.Test(t, testExpiredReply) }

func testExpiredReply(t *testing.T) {
	o := options()
	o.ReplyLifetime = time.Second
	s := startOn(t, storetest.Faulty(storetest.Memory(t), func(c storetest.Call) storetest.Fault {
		if c.Kind != store.Replies {
			return storetest.Fault{}
		}
		wait := func(context.Context) { time.Sleep(time.Millisecond) }
		if c.Method == "Get" { // the last ones read the expired answer before it is replaced, and drop it after
			return storetest.Fault{Before: wait, After: func(context.Context) { time.Sleep(10 * time.Millisecond) }}
		}
		return storetest.Fault{Before: wait, After: wait}
	}), o)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
	ask := func() answer {
		return s.send("GET", "/v1/id/increment?key=k", adminToken, "", "Idempotency-Key", "one")
	}
	first := ask()
	time.Sleep(2 * time.Second)
	var mu sync.Mutex
	texts := map[string]bool{}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			a := ask()
			mu.Lock()
			defer mu.Unlock()
			texts[a.text] = true
		})
	}
	all.Wait()
	if len(texts) != 1 || texts[first.text] {
		t.Errorf("first %s, then %v", first.text, texts)
	}
}

// TestLargeReply: a request is refused with that reason if its answer is too large to be kept.
func TestLargeReply(t *testing.T) { synctest.Test(t, testLargeReply) }

func testLargeReply(t *testing.T) {
	s := start(t, options())
	text := fmt.Sprintf(`{"type": "fixed-chars", "value": %q}, `, strings.Repeat("x", 256))
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "k", "parts": [`+strings.Repeat(text, 8)+`{"type": "auto-increment"}]}`)
	a := s.send("GET", "/v1/id/formatted?key=k&size=1000", adminToken, "", "Idempotency-Key", "one")
	if a.status != 400 || a.code != 1003 || !strings.Contains(a.message, "1048576") {
		t.Errorf("%d %.200s", a.status, a.text)
	}
}

// TestHead: HEAD gives no IDs and changes nothing, even where GET does; paths are not cleaned.
func TestHead(t *testing.T) { synctest.Test(t, testHead) }

func testHead(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
	token := s.sendAsAdmin("GET", "/v1/auth/token?key=k", "").data["token"]
	for target, status := range map[string]int{
		"/v1/id/increment?key=k": 405, "/v1/id/formatted?key=k": 405, "/v1/id/snowflake?key=k": 405, "/v1/auth/token?key=k": 405,
		"/v1/auth/tokenreset?key=k": 405, "/v1/config/list": 200, "/v1/config/increment?key=k": 200, "/health": 200,
	} {
		if a := s.send("HEAD", target, adminToken, ""); a.status != status || status == 405 && !strings.HasPrefix(a.header.Get("Allow"), "GET") {
			t.Errorf("HEAD %s: %d %v", target, a.status, a.header)
		}
	}
	if ids := s.sendAsAdmin("GET", "/v1/id/increment?key=k", "").ids(t); ids[0] != "1" {
		t.Errorf("after HEAD, GET gives %v", ids)
	}
	if again := s.sendAsAdmin("GET", "/v1/auth/token?key=k", "").data["token"]; again != token {
		t.Error("HEAD changed the token")
	}
	for _, target := range []string{"/v1//id/increment?key=k", "/v1/./id/increment", "/v1/config/../id/increment", "//"} {
		if a := s.send("GET", target, adminToken, ""); a.status != 404 || a.code != 1001 || a.header.Get("X-Trace-Id") == "" {
			t.Errorf("GET %s: %d %v %s", target, a.status, a.header, a.text)
		}
	}
	for target, status := range map[string]int{"/v1/id/%69ncrement?key=k": 200, "/v1%2Fid/increment?key=k": 405} {
		r, rec := httptest.NewRequest("GET", target, nil), httptest.NewRecorder()
		r.Header.Set("Authorization", adminToken)
		if s.ServeHTTP(rec, r); rec.Code != status {
			t.Errorf("GET %s: %d %s, want %d", target, rec.Code, rec.Body, status)
		}
	}
}

// TestListRefuses checks that texts are refused which stores cannot compare with keys.
func TestListRefuses(t *testing.T) { synctest.Test(t, testListRefuses) }

func testListRefuses(t *testing.T) {
	s := start(t, options())
	for _, c := range []struct {
		query, says string
		code        int
	}{
		{"key=%00", "key", 1002},
		{"from=%ff", "from", 1002},
		{"key=" + strings.Repeat("x", 256), "255 bytes", 1002},
		{"key=%zz", "not well-formed", 1001},
		{"key=a;size=1", "not well-formed", 1001},
	} {
		s.wantRefusal("GET", "/v1/config/list?"+c.query, "", 400, c.code, c.says)
	}
}

// TestFailedStart checks that a failed start leaves no goroutine: the bubble would not end.
func TestFailedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, fault := options(), errors.New("no console")
		hooks := worker.Hooks{Console: func(*worker.Worker) (http.Handler, error) { return nil, fault }}
		if _, err := worker.New(storetest.Memory(t), o, hooks); !errors.Is(err, fault) {
			t.Error(err)
		}
		o = options()
		o.Validity = 30 * time.Second // a change would take longer than a request may
		if _, err := worker.New(storetest.Memory(t), o, worker.Hooks{}); err == nil || !strings.Contains(err.Error(), "raise Timeout") {
			t.Error(err)
		}
	})
}

// cutOff is a connection that ends.
type cutOff struct{ http.ResponseWriter }

func (cutOff) Write([]byte) (int, error) { panic(http.ErrAbortHandler) }

// TestAbort: the worker passes on the panic with which a handler around it cuts off an answer.
func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, options())
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the panic is %v", p)
			}
		}()
		s.ServeHTTP(cutOff{httptest.NewRecorder()}, httptest.NewRequest("GET", "/health", nil))
	})
}
