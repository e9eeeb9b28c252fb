// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/bazaar"
)

// TestChangesFollow reads the stream of a feed while records change, and goes on behind the last
// event.
func TestChangesFollow(t *testing.T) {
	s := start(t, Options{})
	store := bazaar.OrderStoreOf(s.db, "tenant-3")
	q := url.Values{"p": {"tenants", "tenant-3", "orders"}, "type": {"Order"}}
	next, stop, _ := s.follow(q, "")
	first := next()
	if err := store.Update(t.Context(), 72623859790382856, func(o *bazaar.Order) error { o.Amount = 4711; return nil }); err != nil {
		t.Fatal(err)
	}
	second := next()
	stop()
	if second.ID != first.ID || second.Version <= first.Version || !slices.ContainsFunc(second.Cells, func(c cell) bool { return c.Name == "Amount" && c.Text == "4711" }) {
		t.Errorf("after %v came %v", first, second)
	}
	if err := store.Delete(t.Context(), 72623859790382856); err != nil {
		t.Fatal(err)
	}
	next, stop, _ = s.follow(q, second.Version)
	defer stop()
	if third := next(); !third.Deleted || third.Version <= second.Version {
		t.Errorf("after a pause came %v", third)
	}
}

// generous is how long tests wait for what comes at once unless something is at fault.
const generous = time.Minute

// follow opens a stream and returns functions that wait for the next change, that end the stream,
// and that wait for its end.
func (s *site) follow(q url.Values, last string) (next func() change, stop func(), drain func() error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), generous)
	s.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/changes?"+q.Encode(), nil)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", last)
	answer, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	lines := bufio.NewScanner(answer.Body)
	next = func() (c change) {
		for event := ""; lines.Scan(); {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				event = name
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && event != "idle" {
				if err := json.Unmarshal([]byte(data), &c); err != nil || event != "change" {
					s.Fatalf("%s %s: %v", event, data, err)
				}
				return c
			}
		}
		s.Fatalf("the stream ended: %v", lines.Err())
		return c
	}
	drain = func() error {
		for lines.Scan() {
		}
		return lines.Err()
	}
	return next, func() { answer.Body.Close() }, drain
}

// TestCloseEndsStreams checks that a page that follows a feed does not keep the server from ending.
func TestCloseEndsStreams(t *testing.T) {
	s := start(t, Options{})
	next, stop, drain := s.follow(orders(), "")
	defer stop()
	next()
	s.pages.Close()
	if err := drain(); err != nil {
		t.Errorf("the stream does not end: %v", err)
	}
}
