// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// TestSnowflake checks GET /v1/id/snowflake in both dialects: layout, worker id and lease.
func TestSnowflake(t *testing.T) { synctest.Test(t, testSnowflake) }

func testSnowflake(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/snowflake", `{"key": "events", "base_ts": 1767225600000, "ts_size": 41, "worker_id_size": 2, "seq_size": 20}`)
	s.sendAsAdmin("POST", "/v1/config/snowflake", `{"name": "deployed", "epoch": 1767225600000}`)
	for key, want := range map[string]map[string]string{
		"events":   {"skip_size": "1", "base_ts": "1767225600000", "ts_size": "41", "worker_id_size": "2", "seq_size": "20", "epoch": "1767225600000", "worker_bits": "2", "sequence_bits": "20"},
		"deployed": {"skip_size": "1", "ts_size": "41", "worker_id_size": "10", "seq_size": "12", "worker_bits": "10", "sequence_bits": "12"},
	} {
		got := s.sendAsAdmin("GET", "/v1/id/snowflake?key="+key, "").data
		for name, value := range want {
			if fmt.Sprint(got[name]) != value {
				t.Errorf("%s: %s is %v, want %s", key, name, got[name], value)
			}
		}
		for _, name := range []string{"worker_id", "lease_key", "lease_duration", "lease_start", "lease_expires"} {
			if got[name] == nil {
				t.Errorf("%s: there is no %s", key, name)
			}
		}
	}
	lease := func(query string) (l api.Snowflake) {
		var reply api.Reply[api.Snowflake]
		if err := json.Unmarshal([]byte(s.sendAsAdmin("GET", "/v1/id/snowflake?key=events&renews=true"+query, "").text), &reply); err != nil {
			t.Fatal(err)
		}
		return reply.Data
	}
	first := lease("")
	if first.LeaseDuration != 600 {
		t.Fatal(first)
	}
	time.Sleep(5 * time.Minute)
	if again := lease("&lease_key=" + first.LeaseKey); again.WorkerID != first.WorkerID || again.LeaseExpires <= first.LeaseExpires {
		t.Errorf("renewed: %v; it was %v", again, first)
	}
	s.wantRefusal("GET", "/v1/id/snowflake?key=events&lease_key=x", "", 400, 1001, "lease_key")
	s.wantRefusal("GET", "/v1/id/snowflake?key=events&renews=x", "", 400, 1001, "renews")
	s.wantRefusal("GET", "/v1/id/snowflake?key=none", "", 404, 3001, "none")
}

// TestLeaseClock: leases go by the machine's clock, even if the dates in IDs go by another one.
func TestLeaseClock(t *testing.T) { synctest.Test(t, testLeaseClock) }

func testLeaseClock(t *testing.T) {
	time.Sleep(30 * 365 * 24 * time.Hour) // the bubble begins in 2000, before a lease can
	o := options()                        // in 2026
	o.Monotonic = nil
	s := start(t, o)
	s.sendAsAdmin("POST", "/v1/config/snowflake", `{"key": "events", "base_ts": 0, "ts_size": 41, "worker_id_size": 2, "seq_size": 20}`)
	got := s.sendAsAdmin("GET", "/v1/id/snowflake?key=events", "").data
	now := time.Now()
	for name, want := range map[string]time.Time{"lease_start": now, "lease_expires": now.Add(10 * time.Minute)} {
		if text := fmt.Sprint(want.UnixMilli()); fmt.Sprint(got[name]) != text {
			t.Errorf("%s is %v, want %s", name, got[name], text)
		}
	}
}

// TestWorkerIDs: no two clients of two workers have the same worker id; a client that renews
// keeps its own; when all are leased the answer is 4003, with the time at which one will be free.
func TestWorkerIDs(t *testing.T) { synctest.Test(t, testWorkerIDs) }

func testWorkerIDs(t *testing.T) {
	shared := storetest.Memory(t)
	a, b := startOn(t, shared, options()), startOn(t, shared, options())
	a.sendAsAdmin("POST", "/v1/config/snowflake", `{"key": "events", "base_ts": 1767225600000, "ts_size": 41, "worker_id_size": 4, "seq_size": 18}`)
	var mu sync.Mutex
	seen := map[string]bool{}
	var leaseKey, workerID string
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			got := []service{a, b}[i%2].sendAsAdmin("GET", "/v1/id/snowflake?key=events&renews=true", "").data
			mu.Lock()
			defer mu.Unlock()
			workerID, leaseKey = fmt.Sprint(got["worker_id"]), fmt.Sprint(got["lease_key"])
			if seen[workerID] {
				t.Errorf("two clients have the worker id %s", workerID)
			}
			seen[workerID] = true
		})
	}
	all.Wait()
	if n := fmt.Sprint(a.sendAsAdmin("GET", "/v1/config/snowflake?key=events", "").data["active_workers"]); n != "16" {
		t.Errorf("active_workers is %s", n)
	}
	full := b.send("GET", "/v1/id/snowflake?key=events&renews=true", adminToken, "")
	if full.status != 503 || full.code != 4003 || full.header.Get("Retry-After") == "" {
		t.Errorf("when all are leased: %d %v %s", full.status, full.header, full.text)
	}
	time.Sleep(5 * time.Minute)
	if got := fmt.Sprint(b.sendAsAdmin("GET", "/v1/id/snowflake?key=events&lease_key="+leaseKey, "").data["worker_id"]); got != workerID {
		t.Errorf("renewed, the worker id is %s, it was %s", got, workerID)
	}
	time.Sleep(7 * time.Minute)
	if got := fmt.Sprint(b.sendAsAdmin("GET", "/v1/id/snowflake?key=events&renews=true", "").data["worker_id"]); got == workerID {
		t.Errorf("the worker id %s was renewed, and then given to another client", got)
	}
}

// TestReleasedWorkerIDs: a key leases more worker ids in a day than it has if clients release theirs, even
// clients that do not say that they renew.
func TestReleasedWorkerIDs(t *testing.T) { synctest.Test(t, testReleasedWorkerIDs) }

func testReleasedWorkerIDs(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/snowflake", `{"key": "events", "base_ts": 1767225600000, "ts_size": 41, "worker_id_size": 2, "seq_size": 20}`)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "orders", "base": 0}`)
	own := s.sendAsAdmin("GET", "/v1/auth/token?key=events", "").data["token"].(string)
	for n := range 12 {
		got := s.sendAsAdmin("GET", "/v1/id/snowflake?key=events", "")
		if got.status != 200 {
			t.Fatalf("client %d: %s", n, got.text)
		}
		target := "/v1/id/snowflake?key=events&lease_key=" + url.QueryEscape(fmt.Sprint(got.data["lease_key"]))
		for range 2 { // an answer may be lost
			if a := s.send("DELETE", target, own, ""); a.status != 200 {
				t.Fatalf("release: %s", a.text)
			}
		}
		time.Sleep(time.Minute)
	}
	s.wantRefusal("DELETE", "/v1/id/snowflake?key=events", "", 400, 1001, "lease_key")
	s.wantRefusal("DELETE", "/v1/id/snowflake?key=events&lease_key=x", "", 400, 1001, "lease_key")
	s.wantRefusal("DELETE", "/v1/id/snowflake?key=none&lease_key=1.2.x", "", 404, 3001, "none")
	if a := s.send("DELETE", "/v1/id/snowflake?key=orders&lease_key=1.2.x", own, ""); a.status != 403 {
		t.Errorf("with the token of another key: %s", a.text)
	}
}

// TestSnowflakeChange: a layout that may repeat IDs needs force.
func TestSnowflakeChange(t *testing.T) { synctest.Test(t, testSnowflakeChange) }

func testSnowflakeChange(t *testing.T) {
	s := start(t, options())
	save := func(base int64, force bool) string {
		return fmt.Sprintf(`{"key": "events", "base_ts": %d, "ts_size": 41, "worker_id_size": 10, "seq_size": 12, "force": %t}`, base, force)
	}
	s.sendAsAdmin("POST", "/v1/config/snowflake", save(1767225600000, false))
	first := fmt.Sprint(s.sendAsAdmin("GET", "/v1/id/snowflake?key=events", "").data["base_ts"])
	s.wantRefusal("POST", "/v1/config/snowflake", save(1767225600000+1000, false), 409, 1001, "force")
	if got := fmt.Sprint(s.sendAsAdmin("GET", "/v1/id/snowflake?key=events", "").data["base_ts"]); got != first {
		t.Errorf("after a refused change, base_ts is %s", got)
	}
	s.sendAsAdmin("POST", "/v1/config/snowflake", save(1767225600000+1000, true))
	if got := fmt.Sprint(s.sendAsAdmin("GET", "/v1/id/snowflake?key=events", "").data["base_ts"]); got != "1767225601000" {
		t.Errorf("after a forced change, base_ts is %s", got)
	}
}
