// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestChangesFollow reads the stream of a feed while records change, and goes on after the last
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

// TestChangesAwait: while nothing changes, a stream begins no transaction until it says that it is
// idle. A change is sent at once.
func TestChangesAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := openMemory(t)
		writer, counter := openPlain(t, engine), faults.NewCounter(engine)
		must(t, bazaar.Seed(t.Context(), engine))
		pages, err := New(openPlain(t, counter), Options{Token: token})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		sent := &recorder{ResponseRecorder: httptest.NewRecorder()}
		go (&changePages{pages.stores, pages.pulse, pages.ended}).stream(sent, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/changes?"+orders().Encode(), nil))
		synctest.Wait()
		before, length := counter.Counts(), len(sent.text())
		time.Sleep(idleEvery - time.Nanosecond)
		synctest.Wait()
		if c := counter.Counts().Sub(before); length == 0 || len(sent.text()) != length || c.Begins > 0 || c.Watches > 0 {
			t.Errorf("%d transactions and %d watches while nothing changes: %s", c.Begins, c.Watches, sent.text()[length:])
		}
		must(t, bazaar.OrderStoreOf(writer, "tenant-1").Delete(t.Context(), 72623859790382856))
		synctest.Wait()
		if text := sent.text()[length:]; strings.Count(text, "event: change\n") != 1 || !strings.Contains(text, `"deleted":true`) {
			t.Errorf("at once came %q", text)
		}
		length = len(sent.text())
		time.Sleep(idleEvery)
		synctest.Wait()
		if text := sent.text()[length:]; text != "event: idle\ndata: {}\n\n" {
			t.Errorf("while nothing changed came %q", text)
		}
		cancel()
		pages.Close()
	})
}

// recorder is a response that one goroutine reads while another one writes it.
type recorder struct {
	*httptest.ResponseRecorder
	mu sync.Mutex
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ResponseRecorder.Write(text)
}

// text returns what was sent so far.
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Body.String()
}

// openPlain opens a database that leases no machine id.
func openPlain(t *testing.T, engine kv.Database) *persistable.DB {
	t.Helper()
	db, err := persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	must(t, err)
	t.Cleanup(func() { closeAll(t, db) })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
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
