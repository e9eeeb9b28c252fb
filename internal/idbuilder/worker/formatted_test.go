// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// TestFormatted checks GET /v1/id/formatted in both dialects.
func TestFormatted(t *testing.T) { synctest.Test(t, testFormatted) }

func testFormatted(t *testing.T) {
	o := options()
	s := start(t, o)
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "bills", "parts": [{"type": "fixed-chars", "value": "INV"},
		{"type": "date-format", "format": "yyyyMMdd", "time_zone": "Asia/Tokyo"}, {"type": "fixed-chars", "value": "-"},
		{"type": "auto-increment", "length": 4, "reset_scope": "date"}]}`)
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"name": "orders", "pattern": "ORD{YYYY}{MM}{DD}-{SEQ:6}-{RAND:4}", "sequence_reset": "daily"}`)
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "few", "parts": [{"type": "auto-increment", "length": 1, "length_fixed": true}]}`)
	for _, c := range []struct{ query, want string }{
		{"key=bills&size=2", "^INV20261123-0001 INV20261123-0002$"},
		{"name=orders&count=2", "^ORD20261122-000001-[A-Z0-9]{4} ORD20261122-000002-[A-Z0-9]{4}$"},
		{"key=few&size=9", "^1 2 3 4 5 6 7 8 9$"},
	} {
		if got := strings.Join(s.sendAsAdmin("GET", "/v1/id/formatted?"+c.query, "").ids(t), " "); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
	s.wantRefusal("GET", "/v1/id/formatted?key=few", "", 503, 4003, "exhausted")
	s.wantRefusal("GET", "/v1/id/formatted?key=bills&size=1001", "", 400, 1003, "1 to 1000")
	s.wantRefusal("GET", "/v1/id/formatted?key=bills&delta=1", "", 400, 1001, "delta: there is no such parameter")
	for range 3 {
		if sample := s.sendAsAdmin("GET", "/v1/config/formatted?key=bills", "").data["sample_id"]; sample != "INV20261123-0001" {
			t.Errorf("the sample is %v", sample)
		}
	}
	if got := s.sendAsAdmin("GET", "/v1/id/formatted?key=bills", "").ids(t); got[0] != "INV20261123-0003" {
		t.Errorf("after samples the next ID is %v", got)
	}
}

// TestLongestKey: keys of 255 bytes have IDs of each type, tokens, and counters that begin anew; keys
// that differ in the last byte share nothing.
func TestLongestKey(t *testing.T) {
	s := start(t, options())
	for _, last := range []string{"a", "b"} {
		for idType, parameters := range map[string]string{
			"increment": `, "base": 0`, "snowflake": `, "base_ts": 0, "ts_size": 41, "worker_id_size": 10, "seq_size": 12`,
			"formatted": `, "parts": [{"type": "date-format", "format": "yyyyMMdd"}, {"type": "auto-increment", "length": 4, "reset_scope": "date"}]`,
		} {
			key := strings.Repeat(idType[:1], 254) + last
			if a := s.sendAsAdmin("POST", "/v1/config/"+idType, fmt.Sprintf(`{"key": %q%s}`, key, parameters)); a.status >= 300 {
				t.Fatalf("%s: %s", idType, a.text)
			}
			token := s.sendAsAdmin("GET", "/v1/auth/token?key="+key, "").data["token"].(string)
			if a := s.send("GET", "/v1/id/"+idType+"?key="+key, token, ""); a.status != http.StatusOK {
				t.Errorf("%s: %s", idType, a.text)
			} else if ids, has := a.data["ids"].([]any); has && !strings.HasSuffix(fmt.Sprint(ids[0]), "1") {
				t.Errorf("%s: the first ID is %v", idType, ids[0])
			}
		}
	}
	s.wantRefusal("GET", "/v1/id/increment?key="+strings.Repeat("k", 256), "", 400, 1002, "255")
}

// TestResetAtTheBoundary: the number begins anew with the first ID of a day in the
// part's time zone, on two workers that share a store, while others make IDs and the clock steps back over
// the boundary.
func TestResetAtTheBoundary(t *testing.T) { synctest.Test(t, testResetAtTheBoundary) }

func testResetAtTheBoundary(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	midnight := time.Date(2026, 11, 23, 0, 0, 0, 0, tokyo)
	c := &clock{now: midnight.Add(-time.Millisecond)}
	o := options()
	o.Now = c.Now
	shared := storetest.Memory(t)
	a, b := startOn(t, shared, o), startOn(t, shared, o)
	a.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "bills", "parts": [
		{"type": "date-format", "format": "yyyyMMdd", "time_zone": "Asia/Tokyo"}, {"type": "fixed-chars", "value": "-"}, {"type": "auto-increment", "reset_scope": "date"}]}`)
	one := func(s service) string { return s.sendAsAdmin("GET", "/v1/id/formatted?key=bills", "").ids(t)[0] }
	if id := one(a); id != "20261122-1" {
		t.Errorf("the first ID of the day is %s", id)
	}
	c.set(midnight)
	if id := one(a); id != "20261123-1" {
		t.Errorf("the first ID of the next day is %s", id)
	}
	seen := map[string]bool{"20261122-1": true, "20261123-1": true}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 100 {
				c.set(midnight.Add(time.Duration((n%5)-2) * time.Millisecond))
				id := one([]service{a, b}[i%2])
				mu.Lock()
				if seen[id] {
					t.Errorf("the ID %s came twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// TestCountersOfParts: each counter of a format has a sequence of its own.
func TestCountersOfParts(t *testing.T) { synctest.Test(t, testCountersOfParts) }

func testCountersOfParts(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "k", "parts": [{"type": "fixed-polling-char", "chars_scope": "AB"}, {"type": "auto-increment", "length": 3}]}`)
	if got := strings.Join(s.sendAsAdmin("GET", "/v1/id/formatted?key=k&size=3", "").ids(t), " "); got != "A001 B002 A003" {
		t.Errorf("the IDs are %s", got)
	}
	for i := range 2 {
		if _, err := s.store.Sequence(t.Context(), idconfig.SequenceName("k", i, "")); err != nil {
			t.Error(fmt.Sprint(i), err)
		}
	}
}
