// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
)

// exchange is a request that a client in use sends, and what it needs in the answer.
type exchange struct {
	name           string
	method, target string
	auth           string // the Authorization header; ADMIN, KEY and GLOBAL stand for tokens
	body           string
	status         int
	// want has regular expressions for the JSON of members of the answer, by their paths;
	// "-" says that the member must be missing.
	want map[string]string
}

// dialectConfigs are configurations of the exchanges, as the deployed worker's
// own tests create them.
var dialectConfigs = map[string]string{
	"increment": `{"name": "order-id", "start": 1000, "step": 1, "min": 1, "max": 9999999}
		{"name": "zero", "start": 0, "step": 10, "min": 0, "max": 1000000}
		{"name": "few", "start": 1, "step": 1, "min": 1, "max": 2}
		{"name": "own", "start": 1, "step": 1, "min": 1, "max": 1000, "key_token_enable": true}
		{"name": "a/b c", "start": 5, "step": 1, "min": 1, "max": 1000}`,
	"snowflake": `{"name": "user-id", "epoch": 1704067200000, "worker_bits": 10, "sequence_bits": 12}`,
	"formatted": `{"name": "invoice-id", "pattern": "ID-{SEQ:4}", "sequence_reset": "never"}
		{"name": "codes", "pattern": "CODE-{RAND:8}", "sequence_reset": "never"}
		{"name": "uuids", "pattern": "ORD-{UUID}", "sequence_reset": "never"}`,
}

// python are the exchanges of the library in Python: key and size, the bare token, a
// Content-Type with each GET. It reads code, message, data.ids, or the
// members of a snowflake lease; of errors the status and message; 3001 and 4003 only
// in answers with status 200.
var python = []exchange{
	{"IDs", "GET", "/v1/id/increment?key=order-id&size=5", "KEY order-id", "", 200, map[string]string{"code": `0`, "message": `"success"`, "data.ids": `\[1000,1001,1002,1003,1004\]`}},
	{"a key that quote leaves as it is", "GET", "/v1/id/increment?key=a/b%20c&size=1", "KEY a/b c", "", 200, map[string]string{"data.ids": `\[5\]`}},
	{"texts", "GET", "/v1/id/formatted?key=invoice-id&size=2", "KEY invoice-id", "", 200, map[string]string{"code": `0`, "data.ids": `\["ID-0001","ID-0002"\]`}},
	{"a lease", "GET", "/v1/id/snowflake?key=user-id", "KEY user-id", "", 200, map[string]string{"code": `0`, "data.worker_id": `\d+`, "data.epoch": `1704067200000`, "data.worker_bits": `10`, "data.sequence_bits": `12`}},
	{"no token", "GET", "/v1/id/increment?key=order-id&size=1", "", "", 401, map[string]string{"message": `".+"`}},
	{"another key's token", "GET", "/v1/id/increment?key=order-id&size=1", "KEY few", "", 403, map[string]string{"message": `".+"`}},
	{"no such key", "GET", "/v1/id/increment?key=none&size=1", "ADMIN", "", 404, map[string]string{"message": `".+"`, "code": `3001`}},
}

// rust are those of the library in Rust: all but letters, digits and -_.~ is
// percent-encoded. Of a refusal it reads code, a 32-bit number, and message, where it
// looks for "exhausted"; worker_id must fit 32 bits without a sign, and bits eight.
var rust = []exchange{
	{"IDs", "GET", "/v1/id/increment?key=order-id&size=2", "KEY order-id", "", 200, map[string]string{"code": `0`, "message": `"success"`, "data.ids": `\[1000,1001\]`}},
	{"a key", "GET", "/v1/id/increment?key=a%2Fb%20c&size=1", "KEY a/b c", "", 200, map[string]string{"data.ids": `\[5\]`}},
	{"texts", "GET", "/v1/id/formatted?key=invoice-id&size=1", "KEY invoice-id", "", 200, map[string]string{"data.ids": `\["ID-0001"\]`}},
	{"a lease", "GET", "/v1/id/snowflake?key=user-id", "KEY user-id", "", 200, map[string]string{"data.worker_id": `\d{1,4}`, "data.epoch": `1704067200000`, "data.worker_bits": `10`, "data.sequence_bits": `12`}},
	{"the last IDs", "GET", "/v1/id/increment?key=few&size=2", "KEY few", "", 200, map[string]string{"data.ids": `\[1,2\]`}},
	{"no further ID", "GET", "/v1/id/increment?key=few&size=1", "KEY few", "", 503, map[string]string{"code": `4003`, "message": `"(?i).*exhausted.*"`, "data": "null"}},
	{"no such key", "GET", "/v1/id/formatted?key=none&size=1", "ADMIN", "", 404, map[string]string{"code": `3001`, "message": `".+"`}},
	{"a wrong token", "GET", "/v1/id/snowflake?key=user-id", "wrong", "", 401, nil},
}

// suite are those of the deployed worker's own tests: name and count, the token
// after Bearer, and what they assert.
var suite = []exchange{
	{"health", "GET", "/health", "", "", 200, map[string]string{"code": `0`, "data.status": `"healthy"`}},
	{"ready", "GET", "/ready", "", "", 200, map[string]string{"code": `0`, "data.ready": `true`}},
	{"metrics", "GET", "/metrics", "", "", 200, map[string]string{"": `(?s).*idbuilder_up.*`}},
	{"no token for configurations", "GET", "/v1/config/increment?name=order-id", "", "", 401, nil},
	{"no token for IDs", "GET", "/v1/id/increment?name=order-id", "", "", 401, nil},
	{"a wrong token", "GET", "/v1/config/increment?name=order-id", "Bearer invalid_token", "", 401, nil},
	{"verify", "GET", "/v1/auth/verify", "Bearer ADMIN", "", 200, map[string]string{"code": `0`}},
	{"verify without", "GET", "/v1/auth/verify", "", "", 401, nil},
	{"verify wrong", "GET", "/v1/auth/verify", "Bearer invalid_token", "", 401, nil},
	{"a token before its configuration", "GET", "/v1/auth/token?key=token_test", "Bearer ADMIN", "", 200, map[string]string{"code": `0`, "data.key": `"token_test"`, "data.token": `".{64}"`, "data.token_type": `"key"`}},
	{"verify a key's token", "GET", "/v1/auth/verify", "Bearer KEY token_test", "", 403, nil},
	{"then its configuration", "POST", "/v1/config/increment", "Bearer ADMIN", `{"name": "token_test", "start": 1, "step": 1, "min": 1, "max": 1000000}`, 200, map[string]string{"code": `0`}},
	{"then an ID", "GET", "/v1/id/increment?name=token_test&count=1", "Bearer KEY token_test", "", 200, map[string]string{"data.ids": `\[1\]`}},
	{"a key's token for configurations", "GET", "/v1/config/increment?name=token_test", "Bearer KEY token_test", "", 403, nil},
	{"the global token", "GET", "/v1/id/increment?name=order-id&count=1", "Bearer KEY __global__", "", 200, map[string]string{"data.ids": `\[1000\]`}},
	{"the global token where a key has its own", "GET", "/v1/id/increment?name=own&count=1", "Bearer KEY __global__", "", 403, nil},
	{"a configuration", "GET", "/v1/config/increment?name=order-id", "Bearer ADMIN", "", 200, map[string]string{"data.name": `"order-id"`, "data.start": `1000`, "data.step": `1`, "data.min": `1`, "data.max": `9999999`}},
	{"one twice", "POST", "/v1/config/increment", "Bearer ADMIN", `{"name": "order-id", "start": 1, "step": 1, "min": 1, "max": 1000}`, 409, nil},
	{"a step of 0", "POST", "/v1/config/increment", "Bearer ADMIN", `{"name": "invalid", "start": 1, "step": 0, "min": 1, "max": 1000}`, 400, nil},
	{"none", "GET", "/v1/config/increment?name=nonexistent", "Bearer ADMIN", "", 404, map[string]string{"code": `3001`}},
	{"a snowflake configuration", "GET", "/v1/config/snowflake?name=user-id", "Bearer ADMIN", "", 200, map[string]string{"data.name": `"user-id"`, "data.worker_bits": `10`, "data.sequence_bits": `12`}},
	{"too many bits", "POST", "/v1/config/snowflake", "Bearer ADMIN", `{"name": "invalid_sf", "epoch": 1704067200000, "worker_bits": 15, "sequence_bits": 15}`, 400, nil},
	{"a formatted configuration", "GET", "/v1/config/formatted?name=uuids", "Bearer ADMIN", "", 200, map[string]string{"data.name": `"uuids"`, "data.pattern": `"ORD-\{UUID\}"`}},
	{"a pattern of text alone", "POST", "/v1/config/formatted", "Bearer ADMIN", `{"name": "invalid_pattern", "pattern": "STATIC-PREFIX", "sequence_reset": "never"}`, 400, nil},
	{"IDs", "GET", "/v1/id/increment?name=order-id&count=3", "Bearer ADMIN", "", 200, map[string]string{"data.ids": `\[1001,1002,1003\]`}},
	{"IDs with a step", "GET", "/v1/id/increment?name=zero&count=4", "Bearer ADMIN", "", 200, map[string]string{"data.ids": `\[0,10,20,30\]`}},
	{"IDs of none", "GET", "/v1/id/increment?name=nonexistent&count=1", "Bearer ADMIN", "", 404, nil},
	{"a lease", "GET", "/v1/id/snowflake?name=user-id", "Bearer ADMIN", "", 200, map[string]string{"data.worker_id": `\d+`, "data.epoch": `1704067200000`, "data.worker_bits": `10`, "data.sequence_bits": `12`}},
	{"texts with a number", "GET", "/v1/id/formatted?name=invoice-id&count=3", "Bearer ADMIN", "", 200, map[string]string{"data.ids": `\["ID-0001","ID-0002","ID-0003"\]`}},
	{"texts with a UUID", "GET", "/v1/id/formatted?name=uuids&count=2", "Bearer ADMIN", "", 200, map[string]string{"data.ids": `\["ORD-[0-9a-f-]{36}","ORD-[0-9a-f-]{36}"\]`}},
	{"texts at random", "GET", "/v1/id/formatted?name=codes&count=2", "Bearer ADMIN", "", 200, map[string]string{"data.ids": `\["CODE-.{8}","CODE-.{8}"\]`}},
	{"an empty name", "GET", "/v1/id/increment?name=&count=1", "Bearer ADMIN", "", 400, nil},
	{"a count of 0", "GET", "/v1/id/increment?name=order-id&count=0", "Bearer ADMIN", "", 400, nil},
	{"a count of 1001", "GET", "/v1/id/increment?name=order-id&count=1001", "Bearer ADMIN", "", 400, nil},
	{"no route", "GET", "/unknown/route", "", "", 404, nil},
}

// oldConsole are those of the deployed worker's console: below /api, and with names
// of its own for a snowflake key's parameters.
var oldConsole = []exchange{
	{"log in", "GET", "/api/auth/verify", "Bearer ADMIN", "", 200, nil},
	{"the first page", "GET", "/api/config/list?size=3", "Bearer ADMIN", "", 200, map[string]string{"data.items.0.key": `"a/b c"`, "data.items.0.id_type": `"increment"`, "data.items.2.key": `".+"`}},
	{"the next page", "GET", "/api/config/list?from=order-id&size=21", "Bearer ADMIN", "", 200, map[string]string{"data.items.0.key": `"own"`}},
	{"a filter", "GET", "/api/config/list?key=order&size=21", "Bearer ADMIN", "", 200, map[string]string{"data.items.0.key": `"order-id"`, "data.items.1": "-"}},
	{"create an increment key", "POST", "/api/config/increment", "Bearer ADMIN", `{"key": "made", "start": 1, "step": 1, "min": 0}`, 200, nil},
	{"show it", "GET", "/api/config/increment?key=made", "Bearer ADMIN", "", 200, map[string]string{"data.start": `1`, "data.step": `1`, "data.min": `0`, "data.max": `\d+`}},
	{"change it", "POST", "/api/config/increment", "Bearer ADMIN", `{"key": "made", "start": 1, "step": 1, "min": 0, "max": 500}`, 200, nil},
	{"create a snowflake key", "POST", "/api/config/snowflake", "Bearer ADMIN", `{"key": "flakes", "worker_id_bits": 10, "sequence_bits": 12}`, 200, nil},
	{"show it", "GET", "/api/config/snowflake?key=flakes", "Bearer ADMIN", "", 200, map[string]string{"data.epoch_ts": `1704067200000`, "data.worker_id_bits": `10`, "data.sequence_bits": `12`}},
	{"create one with an epoch", "POST", "/api/config/snowflake", "Bearer ADMIN", `{"key": "epoch", "epoch_ts": 1704067200001, "worker_id_bits": 8, "sequence_bits": 14}`, 200, nil},
	{"show it", "GET", "/api/config/snowflake?key=epoch", "Bearer ADMIN", "", 200, map[string]string{"data.epoch_ts": `1704067200001`, "data.worker_id_bits": `8`, "data.sequence_bits": `14`}},
	{"create a formatted key", "POST", "/api/config/formatted", "Bearer ADMIN", `{"key": "texts", "pattern": "T{SEQ:5}"}`, 200, nil},
	{"show it", "GET", "/api/config/formatted?key=texts", "Bearer ADMIN", "", 200, map[string]string{"data.pattern": `"T\{SEQ:5\}"`}},
	{"a token", "GET", "/api/auth/token?key=made", "Bearer ADMIN", "", 200, map[string]string{"data.token": `".{64}"`}},
	{"another token", "GET", "/api/auth/tokenreset?key=made", "Bearer ADMIN", "", 200, map[string]string{"data.token": `".{64}"`}},
	{"a refusal", "POST", "/api/config/increment", "Bearer ADMIN", `{"key": "bad", "start": 1, "step": 0}`, 400, map[string]string{"message": `".+"`}},
	{"a session that has ended", "GET", "/api/config/list?size=21", "Bearer wrong", "", 401, nil},
}

// TestDialects sends the requests of each client in use to a worker, and checks the answers.
func TestDialects(t *testing.T) {
	for name, exchanges := range map[string][]exchange{"python": python, "rust": rust, "the deployed worker's tests": suite, "the deployed worker's console": oldConsole} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testDialect(t, exchanges) }) })
	}
}

func testDialect(t *testing.T, exchanges []exchange) {
	s := startOn(t, storetest.Memory(t), options())
	for idType, configs := range dialectConfigs {
		for config := range strings.SplitSeq(configs, "\n") {
			s.sendAsAdmin("POST", "/v1/config/"+idType, config)
		}
	}
	for _, e := range exchanges {
		r := httptest.NewRequest(e.method, e.target, strings.NewReader(e.body))
		r.Header.Set("Content-Type", "application/json")
		if auth := s.authorization(e.auth); auth != "" {
			r.Header.Set("Authorization", auth)
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		checkConforms(t, e.method, r.URL.Path, rec.Code, rec.Header(), rec.Body.String())
		if rec.Code != e.status {
			t.Errorf("%s: %s %s %s: %d %s, want %d", e.name, e.method, e.target, e.body, rec.Code, rec.Body, e.status)
			continue
		}
		for path, want := range e.want {
			if got := member(rec.Body.Bytes(), path); !regexp.MustCompile("^(?:" + want + ")$").MatchString(got) {
				t.Errorf("%s: %s %s: %s is %s, want %s", e.name, e.method, e.target, path, got, want)
			}
		}
		if e.status != http.StatusOK && member(rec.Body.Bytes(), "code") == "0" {
			t.Errorf("%s: the refusal has the code 0", e.name)
		}
	}
}

// authorization replaces ADMIN, and KEY with the name of a key, by their tokens.
func (s service) authorization(text string) string {
	before, key, ok := strings.Cut(text, "KEY ")
	if !ok {
		return strings.Replace(text, "ADMIN", adminToken, 1)
	}
	return before + fmt.Sprint(s.sendAsAdmin("GET", "/v1/auth/token?key="+url.QueryEscape(key), "").data["token"])
}

// member returns the JSON of a member of a text, "-" if there is none.
func member(text []byte, path string) string {
	if path == "" {
		return string(text)
	}
	at := json.RawMessage(text)
	for name := range strings.SplitSeq(path, ".") {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(at, &list) == nil && at[0] == '[' {
			object = map[string]json.RawMessage{}
			for i, item := range list {
				object[fmt.Sprint(i)] = item
			}
		} else if json.Unmarshal(at, &object) != nil {
			return "-"
		}
		next, ok := object[name]
		if !ok {
			return "-"
		}
		at = next
	}
	return string(at)
}
