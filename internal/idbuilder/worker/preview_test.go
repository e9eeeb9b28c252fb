// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// preview returns the preview of a configuration, which need not be stored.
func (s service) preview(t idconfig.Type, body string, count int) worker.Preview {
	s.Helper()
	r, err := idconfig.Parse(t, []byte(body), time.Now())
	if err != nil {
		s.Fatal(err)
	}
	p, err := s.Preview(s.Context(), &r.Config, count)
	if err != nil {
		s.Fatal(err)
	}
	return p
}

// TestPreview compares previews with the IDs that are given afterwards; previews consume none.
func TestPreview(t *testing.T) {
	s := start(t, options())
	parts := `"parts": [{"type": "fixed-chars", "value": "A"}, {"type": "auto-increment", "length": 3}]`
	for _, c := range []struct {
		kind idconfig.Type
		body string
	}{
		{"increment", `{"key": "up", "base": 1000, "delta": 3}`},
		{"increment", `{"key": "down", "start": -1, "step": -4}`},
		{"formatted", `{"key": "f", ` + parts + `}`},
	} {
		key := strings.Split(c.body, `"`)[3]
		for _, want := range []int{1, 3, 5} {
			p := s.preview(c.kind, c.body, want)
			if p.Refusal != nil || len(p.IDs) != want {
				t.Fatalf("%s: %+v", c.body, p)
			}
			s.sendAsAdmin("POST", "/v1/config/"+string(c.kind), c.body)
			got := s.sendAsAdmin("GET", fmt.Sprintf("/v1/id/%s?key=%s&size=%d", c.kind, key, want), "").ids(t)
			if !slices.Equal(got, p.IDs) {
				t.Errorf("%s: the worker gives %v, the preview had %v", c.body, got, p.IDs)
			}
		}
	}
}

// TestPreviewOfChanges: a preview shows what a change would do, and whether it would be refused.
func TestPreviewOfChanges(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 100}`)
	s.sendAsAdmin("GET", "/v1/id/increment?key=k&size=10", "")
	for body, want := range map[string]string{
		`{"key": "k", "base": 100, "name": "other"}`: "[111 112] <nil>",
		`{"key": "k", "base": 50000}`:                "[50001 50002] <nil>",
		`{"key": "k", "base": 100, "max": 111}`:      "[111] <nil>",
		`{"key": "k", "base": 7}`:                    "[8 9] base",
		`{"key": "new", "base": 7}`:                  "[8 9] <nil>",
	} {
		p := s.preview("increment", body, 2)
		refused := "<nil>"
		if p.Refusal != nil {
			refused = p.Refusal.Param
		}
		if got := fmt.Sprint(p.IDs, " ", refused); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if p := s.preview("formatted", `{"key": "k", "parts": [{"type": "auto-increment"}]}`, 1); p.Refusal == nil {
		t.Error("another type is not refused")
	}
	if p := s.preview("increment", `{"key": "r", "base": 0, "delta": 5, "rand_delta": true}`, 100); len(p.IDs) != 100 || p.IDs[0] == p.IDs[99] {
		t.Errorf("random distances: %v", p.IDs)
	}
}

// TestKeyLoads checks the counts of requests and IDs.
func TestKeyLoads(t *testing.T) {
	s := start(t, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "k", "base": 0}`)
	s.sendAsAdmin("GET", "/v1/id/increment?key=k&size=10", "")
	s.sendAsAdmin("GET", "/v1/id/increment?key=k", "")
	got := slices.Collect(s.KeyLoads())
	if len(got) != 1 || got[0].Key != "k" || got[0].Requests != 2 || got[0].IDs != 11 || got[0].Remaining == 0 {
		t.Errorf("%+v", got)
	}
	if l := s.Load(); l.Waits == 0 || len(l.StoreErrors) != 0 {
		t.Errorf("%+v", l)
	}
}
