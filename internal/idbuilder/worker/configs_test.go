// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// TestIncrementConfig checks /v1/config/increment: the answer has the fields of both
// dialects, and the current number, which it does not consume.
func TestIncrementConfig(t *testing.T) { synctest.Test(t, testIncrementConfig) }

func testIncrementConfig(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "orders", "name": "Orders of the shop", "base": 1000, "delta": 2, "max_request_delta": 60, "rand_delta": false}`)
	s.sendAsAdmin("GET", "/v1/id/increment?key=orders&size=3", "")
	got := s.sendAsAdmin("GET", "/v1/config/increment?key=orders", "").data
	for name, want := range map[string]any{
		"key": "orders", "name": "Orders of the shop", "base": "1000", "current": "1006", "delta": "2", "max_request_delta": "60", "rand_delta": false,
		"start": "1002", "step": "2", "current_exact": true, "id_type": "increment", "key_token_enable": false,
	} {
		if fmt.Sprint(got[name]) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for _, name := range []string{"created_at", "updated_at"} {
		if text, _ := got[name].(string); !strings.HasPrefix(text, "20") || !strings.HasSuffix(text, "Z") {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	if name := s.sendAsAdmin("GET", "/v1/config/increment?name=orders", "").data["name"]; name != "orders" {
		t.Errorf("to the deployed worker's clients, the name is %v", name)
	}
	s.wantRefusal("GET", "/v1/config/increment?key=none", "", 404, 3001, "none")
	s.wantRefusal("GET", "/v1/config/formatted?key=orders", "", 404, 3001, "ask /v1/config/increment")
	s.wantRefusal("POST", "/v1/config/increment", `{"key": "x"}`, 400, 1001, "base: it is missing")
	s.wantRefusal("POST", "/v1/config/increment", `{"key": "a#b", "base": 1}`, 400, 1002, "'#'")
	s.wantRefusal("POST", "/v1/config/increment", `{"key": "x", "base": 1, "delta": 0, "rand": 1}`, 400, 1001, "rand")
	s.wantRefusal("POST", "/v1/config/increment", strings.Repeat(" ", 70_000), 413, 1001, "65536 bytes")
	s.wantRefusal("POST", "/v1/config/increment", `{"name": "orders", "start": 1}`, 409, 1001, "already")
}

// TestCurrent: the current number is exact until another worker reserves. Then it is
// an upper bound of the numbers that were given, and the answer says so.
func TestCurrent(t *testing.T) { synctest.Test(t, testCurrent) }

func testCurrent(t *testing.T) {
	shared := storetest.Memory(t)
	a, b := startOn(t, shared, options()), startOn(t, shared, options())
	a.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
	state := func(s service) string {
		d := s.sendAsAdmin("GET", "/v1/config/increment?key=k", "").data
		return fmt.Sprintf("%v %v %v", d["current"], d["current_exact"], d["reserved"])
	}
	if got := state(a); got != "0 true 0" {
		t.Errorf("at first: %s", got)
	}
	a.sendAsAdmin("GET", "/v1/id/increment?key=k&size=3", "")
	if got := state(a); !strings.HasPrefix(got, "3 true ") {
		t.Errorf("after 3: %s", got)
	}
	b.sendAsAdmin("GET", "/v1/id/increment?key=k", "")
	reserved := strings.Fields(state(b))[2]
	if got := state(a); got != reserved+" false "+reserved {
		t.Errorf("after another worker has reserved up to %s: %s", reserved, got)
	}
}

// TestChangesNeverRewind: a change without force never moves a sequence back; a deleted
// key that is created again continues after the numbers that it gave.
func TestChangesNeverRewind(t *testing.T) { synctest.Test(t, testChangesNeverRewind) }

func testChangesNeverRewind(t *testing.T) {
	shared := storetest.Memory(t)
	s, other := startOn(t, shared, options()), startOn(t, shared, options())
	next := func(s service) string {
		t.Helper()
		return s.sendAsAdmin("GET", "/v1/id/increment?key=k", "").ids(t)[0]
	}
	save := func(parameters string) {
		t.Helper()
		s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", `+parameters+`}`)
	}
	save(`"base": 100`)
	if id := next(s); id != "101" {
		t.Error(id)
	}
	save(`"base": 100, "delta": 5`) // the same base: the sequence goes on
	if id := next(s); id != "1105" && id != "106" {
		t.Errorf("after a change of delta: %s", id)
	}
	s.wantRefusal("POST", "/v1/config/increment", `{"key": "k", "base": 50}`, 409, 1001, "force")
	s.wantRefusal("POST", "/v1/config/increment", `{"key": "k", "base": 100, "step": -1}`, 409, 1001, "direction")
	save(`"base": 50000`)
	if id := next(s); id != "50001" {
		t.Errorf("after a move of the base: %s", id)
	}
	if id := next(other); id <= "50001" {
		t.Errorf("another worker, after a move of the base: %s", id)
	}
	s.sendAsAdmin("DELETE", "/v1/config/increment?key=k", "")
	for _, w := range []service{s, other} {
		w.wantRefusal("GET", "/v1/id/increment?key=k", "", 404, 3001, "no configuration")
	}
	s.wantRefusal("POST", "/v1/config/increment", `{"key": "k", "base": 0}`, 409, 1001, "force")
	save(`"base": 50000`)
	if id := next(s); id <= "50001" {
		t.Errorf("after deletion and creation: %s", id)
	}
	save(`"base": 0, "force": true`)
	if id := next(s); id != "1" {
		t.Errorf("forced to 0: %s", id)
	}
	save(`"start": 10, "step": -2, "min": 0, "force": true`)
	if id := next(s); id != "10" {
		t.Errorf("forced to turn: %s", id)
	}
}

// TestFormattedChanges: a change of parts by which IDs may repeat needs force.
func TestFormattedChanges(t *testing.T) { synctest.Test(t, testFormattedChanges) }

func testFormattedChanges(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "k", "parts": [{"type": "fixed-chars", "value": "A"}, {"type": "auto-increment", "length": 4}]}`)
	s.sendAsAdmin("GET", "/v1/id/formatted?key=k&size=12", "")
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "k", "parts": [{"type": "fixed-chars", "value": "A"}, {"type": "auto-increment", "length": 6}]}`)
	if ids := s.sendAsAdmin("GET", "/v1/id/formatted?key=k", "").ids(t); ids[0] != "A000013" {
		t.Errorf("with more digits the next is %v", ids)
	}
	next := `{"key": "k", "parts": [{"type": "auto-increment", "number_base": 16}]`
	s.wantRefusal("POST", "/v1/config/formatted", next+`}`, 409, 1001, "parts")
	s.sendAsAdmin("POST", "/v1/config/formatted", next+`, "force": true}`)
	s.wantRefusal("POST", "/v1/config/increment", `{"key": "k", "base": 1}`, 409, 1001, "id_type")
	// Each of two changes is safe, but the last format could make IDs of the first: INV-10.
	for _, pattern := range []string{`"INV-"}, {"type": "auto-increment"}]}`, `"ORD-"}, {"type": "auto-increment"}]}`} {
		s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "two", "parts": [{"type": "fixed-chars", "value": `+pattern)
	}
	s.wantRefusal("POST", "/v1/config/formatted", `{"key": "two", "parts": [{"type": "fixed-chars", "value": "INV-"}, {"type": "auto-increment", "number_base": 16}]}`, 409, 1001, "parts")
}

// TestList checks GET /v1/config/list: all types, a prefix, pages, no deleted configurations.
func TestList(t *testing.T) { synctest.Test(t, testList) }

func testList(t *testing.T) {
	s := start(t, options())
	if text := s.sendAsAdmin("GET", "/v1/config/list", "").text; text != `{"code":0,"message":"success","data":{"items":[],"next_cursor":null,"has_more":false}}` {
		t.Error(text)
	}
	for i := range 7 {
		s.sendAsAdmin("POST", "/v1/config/increment", fmt.Sprintf(`{"key": "orders-%d", "base": 0}`, i))
	}
	s.sendAsAdmin("POST", "/v1/config/snowflake", `{"key": "events", "base_ts": 1673606841000, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`)
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "invoices", "parts": [{"type": "auto-increment"}]}`)
	for _, i := range []int{1, 2, 3} {
		s.sendAsAdmin("DELETE", fmt.Sprintf("/v1/config/increment?key=orders-%d", i), "")
	}
	for _, c := range []struct {
		query, want, cursor string
		more                bool
	}{
		{"", "events:snowflake invoices:formatted orders-0:increment orders-4:increment orders-5:increment orders-6:increment", "", false},
		{"size=3", "events:snowflake invoices:formatted orders-0:increment", "orders-0", true},
		{"size=3&from=orders-0", "orders-4:increment orders-5:increment orders-6:increment", "", false},
		{"size=1&from=orders-0", "orders-4:increment", "orders-4", true},
		{"key=inv", "invoices:formatted", "", false},
		{"key=none", "", "", false},
	} {
		a := s.sendAsAdmin("GET", "/v1/config/list?"+c.query, "")
		var page struct {
			Data struct {
				Items []struct {
					Key    string
					IDType string `json:"id_type"`
				}
				NextCursor *string `json:"next_cursor"`
				HasMore    bool    `json:"has_more"`
			}
		}
		if err := json.Unmarshal([]byte(a.text), &page); err != nil {
			t.Fatal(err)
		}
		var items []string
		for _, item := range page.Data.Items {
			items = append(items, item.Key+":"+item.IDType)
		}
		cursor := ""
		if page.Data.NextCursor != nil {
			cursor = *page.Data.NextCursor
		}
		if got := strings.Join(items, " "); got != c.want || cursor != c.cursor || page.Data.HasMore != c.more {
			t.Errorf("%s: %s", c.query, a.text)
		}
	}
	for query, says := range map[string]string{"size=0": "1 to 100", "size=101": "1 to 100", "limit=1": "no such parameter", "key=a&key=b": "twice"} {
		if a := s.send("GET", "/v1/config/list?"+query, adminToken, ""); a.status != 400 || !strings.Contains(a.message, says) {
			t.Errorf("%s: %s", query, a.text)
		}
	}
}

// TestListPassesOver: a configuration that is damaged, or a newer version's, hides no others, neither in a list
// nor from a quarantine of worker ids.
func TestListPassesOver(t *testing.T) { synctest.Test(t, testListPassesOver) }

func testListPassesOver(t *testing.T) {
	s := start(t, options())
	for _, key := range []string{"a", "b", "c", "d"} {
		s.sendAsAdmin("POST", "/v1/config/snowflake", fmt.Sprintf(`{"key": %q, "base_ts": 1673606841000, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`, key))
	}
	s.overwrite(store.Configs, "a", `{"ts_size":"damaged"}`)
	s.overwrite(store.Configs, "c", `{"needs":["hlc v9.0.0"]}`)
	items := `"items":[{"key":"a","id_type":"snowflake","error":"what the store holds is damaged: configuration \"a\""},{"key":"b","id_type":"snowflake"},` +
		`{"key":"c","id_type":"snowflake","error":"a newer version wrote what the store holds: ask another worker, and update this one"}],"next_cursor":"c","has_more":true`
	if text := s.sendAsAdmin("GET", "/v1/config/list?size=3", "").text; !strings.Contains(text, items) {
		t.Error(text)
	}
	keys, err := s.QuarantineWorkerIDs(t.Context())
	if keys != 2 || !strings.Contains(fmt.Sprint(err), `configuration "a"`) || !errors.Is(err, store.ErrNewer) {
		t.Errorf("%d keys are in quarantine: %v", keys, err)
	}
	s.wantRefusal("GET", "/v1/id/snowflake?key=d", "", 503, 4002, "the store may have lost leases")
}

// overwrite replaces the value of a document.
func (s service) overwrite(kind store.Kind, key, value string) {
	s.Helper()
	d, err := s.store.Get(s.Context(), kind, key)
	if err == nil {
		d.Value = []byte(value)
		_, err = s.store.Put(s.Context(), kind, d)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// TestInterruptedDelete: a deletion that ended half-way is completed when it is repeated.
func TestInterruptedDelete(t *testing.T) { synctest.Test(t, testInterruptedDelete) }

func testInterruptedDelete(t *testing.T) {
	var fail atomic.Pointer[string]
	shared := storetest.Memory(t)
	s, other := startOn(t, storetest.Faulty(shared, func(c storetest.Call) storetest.Fault {
		method := fail.Load()
		return storetest.Fault{Lose: method != nil && c.Method+" "+string(c.Kind) == *method}
	}), options()), startOn(t, shared, options())
	for _, method := range []string{"Put config", "Put token", "Advance "} {
		s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
		text := s.sendAsAdmin("GET", "/v1/auth/token?key=k", "").data["token"].(string)
		if a := other.send("GET", "/v1/id/increment?key=k", text, ""); a.status != http.StatusOK {
			t.Fatal(a.text)
		}
		fail.Store(&method)
		s.wantRefusal("DELETE", "/v1/config/increment?key=k", "", 503, 4002, "repeat")
		fail.Store(nil)
		s.wantRefusal("DELETE", "/v1/config/increment?key=k", "", 404, 3001, "no configuration")
		if a := other.send("GET", "/v1/id/increment?key=k", text, ""); a.status != 401 {
			t.Errorf("%s failed: after the repeated deletion the token gets %s", method, a.text)
		}
		s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
		if a := other.send("GET", "/v1/id/increment?key=k", text, ""); a.status != 401 {
			t.Errorf("%s failed: after the key was created anew the token gets %s", method, a.text)
		}
	}
	s.wantRefusal("DELETE", "/v1/config/formatted?key=k", "", 404, 3001, "makes increment IDs")
	s.wantRefusal("DELETE", "/v1/config/formatted?key=none", "", 404, 3001, "no configuration")
}

// TestInterruptedDeleteIsNotRepeated: if the deletion of a key ended half-way, its tokens do not open the
// next key of that name. A token that is made after a complete deletion does.
func TestInterruptedDeleteIsNotRepeated(t *testing.T) {
	synctest.Test(t, testInterruptedDeleteIsNotRepeated)
}

func testInterruptedDeleteIsNotRepeated(t *testing.T) {
	var fail atomic.Pointer[string]
	shared := storetest.Memory(t)
	s, other := startOn(t, storetest.Faulty(shared, func(c storetest.Call) storetest.Fault {
		method := fail.Load()
		return storetest.Fault{Fail: method != nil && c.Method+" "+string(c.Kind) == *method}
	}), options()), startOn(t, shared, options())
	create := func() { s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`) }
	newToken := func() string { return s.sendAsAdmin("GET", "/v1/auth/token?key=k", "").data["token"].(string) }
	for _, method := range []string{"Put token", "Get token"} {
		create()
		text := newToken()
		fail.Store(&method)
		s.wantRefusal("DELETE", "/v1/config/increment?key=k", "", 503, 4002, "repeat")
		fail.Store(nil)
		create()
		if a := other.send("GET", "/v1/id/increment?key=k", text, ""); a.status != 401 {
			t.Errorf("%s failed: after the key was created anew the token gets %s", method, a.text)
		}
	}
	s.sendAsAdmin("DELETE", "/v1/config/increment?key=k", "")
	text := newToken()
	create()
	if a := other.send("GET", "/v1/id/increment?key=k", text, ""); a.status != http.StatusOK {
		t.Errorf("a token that was made between the deletion and the next key gets %s", a.text)
	}
}

// TestRefusedCreation: a creation that is refused leaves the tokens of a key of which the deletion ended half-way;
// one that succeeds makes them invalid.
func TestRefusedCreation(t *testing.T) { synctest.Test(t, testRefusedCreation) }

func testRefusedCreation(t *testing.T) {
	var fail atomic.Bool
	s := startOn(t, storetest.Faulty(storetest.Memory(t), func(c storetest.Call) storetest.Fault {
		return storetest.Fault{Fail: fail.Load() && c.Kind == store.Tokens}
	}), options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 100}`)
	text := s.sendAsAdmin("GET", "/v1/auth/token?key=k", "").data["token"].(string)
	s.sendAsAdmin("GET", "/v1/id/increment?key=k", "")
	fail.Store(true)
	s.wantRefusal("DELETE", "/v1/config/increment?key=k", "", 503, 4002, "repeat")
	fail.Store(false)
	if a := s.send("POST", "/v1/config/increment", adminToken, `{"key": "k", "base": 50}`); a.status != http.StatusConflict {
		t.Errorf("a key that would repeat IDs: %s", a.text)
	}
	if _, err := s.Tokens().Check(t.Context(), text); err != nil {
		t.Errorf("after the refusal the token is %v", err)
	}
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 100}`)
	if _, err := s.Tokens().Check(t.Context(), text); !errors.Is(err, token.ErrInvalid) {
		t.Errorf("after the key was created anew the token is %v", err)
	}
}

// TestDeletedOnce: a deletion does not delete the next configuration of the key, which another worker
// creates while the deletion makes the tokens invalid.
func TestDeletedOnce(t *testing.T) { synctest.Test(t, testDeletedOnce) }

func testDeletedOnce(t *testing.T) {
	var create atomic.Pointer[func()]
	shared := storetest.Memory(t)
	s, other := startOn(t, storetest.Faulty(shared, func(c storetest.Call) storetest.Fault {
		if c.Method == "Put" && c.Kind == store.Tokens {
			if fn := create.Swap(nil); fn != nil {
				(*fn)()
			}
		}
		return storetest.Fault{}
	}), options()), startOn(t, shared, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
	s.sendAsAdmin("GET", "/v1/auth/token?key=k", "")
	again := func() { other.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`) }
	create.Store(&again)
	s.sendAsAdmin("DELETE", "/v1/config/increment?key=k", "")
	if create.Load() != nil {
		t.Error("the key was not created while the deletion ran")
	}
	s.sendAsAdmin("GET", "/v1/id/increment?key=k", "")
}

// TestAdvanceAfterRestore: after a restore of a store that knows nothing of the numbers that were given
// since its backup, keys of all kinds give none of them again once they were moved ahead.
func TestAdvanceAfterRestore(t *testing.T) { synctest.Test(t, testAdvanceAfterRestore) }

func testAdvanceAfterRestore(t *testing.T) {
	lost, restored := startOn(t, storetest.Memory(t), options()), startOn(t, storetest.Memory(t), options())
	requests := map[string]string{"up": "increment", "down": "increment", "yearly": "formatted", "short": "formatted", "deleted": "increment"}
	given := map[string]map[string]bool{}
	for i, s := range []service{lost, restored} {
		s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "up", "base": 0}`)
		s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "down", "start": 0, "step": -2, "min": -1000000}`)
		s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "deleted", "base": 0}`)
		s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "yearly", "pattern": "{YYYY}-{SEQ:8}", "sequence_reset": "yearly"}`)
		s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "short", "parts": [{"type": "auto-increment", "length": 4, "length_fixed": true}]}`)
		s.sendAsAdmin("POST", "/v1/config/snowflake", `{"key": "flake", "base_ts": 1, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`)
		if i == 0 {
			for key, kind := range requests {
				given[key] = map[string]bool{}
				for _, id := range s.sendAsAdmin("GET", "/v1/id/"+kind+"?key="+key+"&size=1000", "").data["id"].([]any) {
					given[key][fmt.Sprint(id)] = true
				}
			}
		}
	}
	restored.sendAsAdmin("DELETE", "/v1/config/increment?key=deleted", "")
	for _, key := range []string{"up", "down", "yearly", "short", "flake", "deleted"} {
		done, err := restored.Advance(t.Context(), key, worker.AdvanceOptions{Steps: 9_990})
		if err != nil || done.Quarantined != (key == "flake") || len(done.Sequences) != 1 && key != "flake" || len(done.Exhausted) > 0 {
			t.Fatalf("%s: %+v, %v", key, done, err)
		}
	}
	restored.sendAsAdmin("POST", "/v1/config/increment", `{"key": "deleted", "base": 0}`)
	for key, kind := range requests {
		ids := restored.sendAsAdmin("GET", "/v1/id/"+kind+"?key="+key+"&size=5", "").data["id"].([]any)
		for _, id := range ids {
			if given[key][fmt.Sprint(id)] {
				t.Errorf("%s gives %v again", key, id)
			}
		}
	}
	restored.wantRefusal("GET", "/v1/id/snowflake?key=flake", "", 503, 4002, "")
	if _, err := restored.Advance(t.Context(), "flake", worker.AdvanceOptions{Steps: 1, ClientsStopped: true}); err != nil {
		t.Error(err)
	}
	if done, err := restored.Advance(t.Context(), "short", worker.AdvanceOptions{Steps: 9_990}); err != nil || len(done.Exhausted) != 1 {
		t.Errorf("a counter with few numbers left: %+v, %v", done, err)
	}
	restored.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "shorter", "parts": [{"type": "fixed-chars", "value": "a"}, {"type": "auto-increment", "length": 6, "length_fixed": true}]}`)
	restored.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "shorter", "parts": [{"type": "fixed-chars", "value": "b"}, {"type": "auto-increment", "length": 3, "length_fixed": true}]}`)
	if done, err := restored.Advance(t.Context(), "shorter", worker.AdvanceOptions{Steps: 5_000}); err != nil || len(done.Exhausted) != 1 || done.Sequences["shorter#0"] != 5_000 {
		t.Errorf("a counter that has become shorter: %+v, %v", done, err)
	}
	if _, err := restored.Advance(t.Context(), "none", worker.AdvanceOptions{Steps: 1}); err == nil {
		t.Error("a key that does not exist was moved")
	}
}
