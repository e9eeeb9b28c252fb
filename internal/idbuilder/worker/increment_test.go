// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"strings"
	"testing"
	"testing/synctest"
)

// TestIncrement checks GET /v1/id/increment in both dialects.
func TestIncrement(t *testing.T) { synctest.Test(t, testIncrement) }

func testIncrement(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "orders", "base": 1000}`)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"name": "events", "start": 1000, "step": -5, "min": 900, "max": 2000}`)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "large", "base": 9007199254740990}`)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "few", "base": 0, "max": 3}`)
	for _, c := range []struct{ query, want string }{
		{"key=orders", "1001"},
		{"key=orders&size=3", "1002 1003 1004"},
		{"name=orders&count=2", "1005 1006"},
		{"key=orders&count=1", "1007"},
		{"key=orders&size=3&delta=10", "1017 1027 1037"},
		{"key=orders&size=2&rand_delta=false", "1038 1039"},
		{"key=orders&size=3&delta=1&rand_delta=true", "1040 1041 1042"},
		{"key=events&size=3", "1000 995 990"},
		{"key=events&delta=7", "983"},
		{"key=large&size=2", "9007199254740991 9007199254740992"},
		{"key=few&size=2", "1 2"},
		{"key=few", "3"},
	} {
		if got := strings.Join(s.sendAsAdmin("GET", "/v1/id/increment?"+c.query, "").ids(t), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
	if a := s.sendAsAdmin("GET", "/v1/id/increment?key=large", ""); !strings.Contains(a.text, `"id_str":["9007199254740993"]`) {
		t.Errorf("beyond 2^53 the answer is %s", a.text)
	}
	if a := s.sendAsAdmin("GET", "/v1/id/increment?key=orders", ""); strings.Contains(a.text, "id_str") || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the answer is %v %s", a.header, a.text)
	}
}

// TestRefusedIncrements checks the errors of GET /v1/id/increment.
func TestRefusedIncrements(t *testing.T) { synctest.Test(t, testRefusedIncrements) }

func testRefusedIncrements(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "orders", "base": 0, "max_request_delta": 50}`)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "few", "base": 0, "max": 3}`)
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "bills", "parts": [{"type": "auto-increment"}]}`)
	for _, c := range []struct {
		query        string
		status, code int
		says         string
	}{
		{"", 400, 1001, "key: it is missing"},
		{"key=", 400, 1002, "key: it is empty"},
		{"key=a%23b", 400, 1002, "'#'"},
		{"key=%zz", 400, 1001, "key: the value is not well-formed"},
		{"key=orders&key=orders", 400, 1001, "key: it is given twice"},
		{"key=orders&name=orders", 400, 1001, "key and name say the same"},
		{"key=orders&size=1&count=1", 400, 1001, "size and count say the same"},
		{"key=orders&sise=1", 400, 1001, "sise: there is no such parameter"},
		{"key=orders&size=0", 400, 1003, "size: it is \"0\"; allowed are 1 to 1000"},
		{"key=orders&size=1001", 400, 1003, "1 to 1000"},
		{"key=orders&size=99999999999999999999", 400, 1003, "1 to 1000"},
		{"key=orders&delta=x", 400, 1001, "delta"},
		{"name=orders&count=x", 400, 1001, "count: it is \"x\"; allowed are 1 to 1000"},
		{"key=orders&delta=0", 400, 1004, "delta"},
		{"key=orders&delta=51", 400, 1004, "delta: it is 51; allowed are 1 to 50"},
		{"key=orders&rand_delta=maybe", 400, 1001, "true and false"},
		{"key=none", 404, 3001, `no configuration "none"`},
		{"key=bills", 400, 1001, "ask /v1/id/formatted"},
		{"key=few&size=4", 503, 4003, "exhausted"},
	} {
		s.wantRefusal("GET", "/v1/id/increment?"+c.query, "", c.status, c.code, c.says)
	}
	if got := s.sendAsAdmin("GET", "/v1/id/increment?key=few&size=3", "").ids(t); strings.Join(got, " ") != "1 2 3" {
		t.Errorf("after a refused request for more, the last are %v", got)
	}
	s.wantRefusal("GET", "/v1/id/increment?key=few", "", 503, 4003, "exhausted")
}
