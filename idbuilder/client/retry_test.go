// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/client"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// lossyNetwork answers the requests of a client by a worker, and loses the first answers to POST and DELETE.
type lossyNetwork struct {
	worker http.Handler
	left   int  // answers to lose
	before bool // the request is lost, and not the answer
}

func (l *lossyNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	lose := r.Method != http.MethodGet && l.left > 0
	if lose {
		l.left--
	}
	if lose && l.before {
		return nil, &net.OpError{Op: "dial", Err: errors.New("the test does not connect")}
	}
	res, err := direct(l.worker.ServeHTTP).RoundTrip(r)
	if lose {
		return nil, errors.New("the test lost the answer")
	}
	return res, err
}

// TestLostAnswersToAdmins: a change succeeds if an earlier try has made it, and fails if another admin has made
// another one, or if the earlier try did not reach the service.
func TestLostAnswersToAdmins(t *testing.T) {
	l := &lossyNetwork{worker: newWorker(t, storetest.Memory(t))}
	admin := newClient(t, client.Options{URLs: []string{"https://one"}, HTTPClient: &http.Client{Transport: l}, Retry: client.Retry{Attempts: 3, First: time.Nanosecond, Max: time.Nanosecond}}).Admin()
	for _, c := range []struct {
		name   string
		before bool
		lost   int
		do     func() error
		status int // 0: success
	}{
		{"create", false, 1, func() error {
			return admin.Save(t.Context(), "increment", rawJSON(`{"name": "a", "start": 9007199254740993, "step": 1}`))
		}, 0},
		{"create another one", false, 1, func() error {
			return admin.Save(t.Context(), "increment", rawJSON(`{"name": "a", "start": 9007199254740992, "step": 1}`))
		}, 409},
		{"create again", false, 0, func() error {
			return admin.Save(t.Context(), "increment", rawJSON(`{"name": "a", "start": 9007199254740993, "step": 1}`))
		}, 409},
		{"delete", false, 2, func() error { return admin.Delete(t.Context(), "increment", "a") }, 0},
		{"delete again", false, 0, func() error { return admin.Delete(t.Context(), "increment", "a") }, 404},
		{"delete without a connection", true, 1, func() error { return admin.Delete(t.Context(), "increment", "a") }, 404},
	} {
		l.left, l.before = c.lost, c.before
		err := c.do()
		var refusal *api.Error
		if errors.As(err, &refusal); (c.status == 0) != (err == nil) || err != nil && (refusal == nil || refusal.HTTPStatus() != c.status) || l.left != 0 {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRetry checks which refused requests are repeated, how often, and after which pauses.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		name   string
		serve  http.HandlerFunc
		tries  int
		pauses [][2]time.Duration // least and most
	}{
		{"unavailable", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, api.Unavailable) }, 4, [][2]time.Duration{{50, 100}, {100, 200}, {125, 250}}},
		{"a proxy's 502", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) }, 4, nil},
		{"a proxy's 504", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "gateway timeout", http.StatusGatewayTimeout)
		}, 4, nil},
		{"a limit", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			refuse(w, 429, api.Unavailable)
		}, 4, [][2]time.Duration{{7000, 7100}, {7000, 7100}, {7000, 7100}}},
		{"a limit for too long", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "31")
			refuse(w, 429, api.Unavailable)
		}, 1, nil},
		{"exhausted", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, api.Exhausted) }, 1, nil},
		{"an internal error", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 500, api.Internal) }, 1, nil},
		{"a wrong parameter", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 400, api.Invalid) }, 1, nil},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{") }, 4, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			var at []time.Time
			var after string
			o := client.Options{Retry: client.Retry{Attempts: 4, First: 100 * time.Millisecond, Max: 250 * time.Millisecond}}
			admin := fakeClient(t, o, func(w http.ResponseWriter, r *http.Request) {
				at = append(at, time.Now())
				c.serve(w, r)
				after = cmp.Or(w.Header().Get("Retry-After"), "0")
			}).Admin()
			var failed *client.RequestError
			if err := admin.Verify(t.Context()); !errors.As(err, &failed) || failed.Tries != c.tries || len(at) != c.tries {
				t.Fatalf("%s: tried %d times: %v", c.name, len(at), err)
			}
			if got := fmt.Sprint(failed.RetryAfter.Seconds()); got != after {
				t.Errorf("%s: RetryAfter is %s seconds, want %s", c.name, got, after)
			}
			for i, bounds := range c.pauses {
				if pause := at[i+1].Sub(at[i]) / time.Millisecond; pause < bounds[0] || pause > bounds[1] {
					t.Errorf("%s: pause %d is %v ms, want from %v to %v", c.name, i+1, int64(pause), int64(bounds[0]), int64(bounds[1]))
				}
			}
		})
	}
}

// TestRetryUsesJitter: the pauses of clients that failed together differ.
func TestRetryUsesJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pauses := map[time.Duration]bool{}
		for range 20 {
			begun := time.Now()
			c := fakeClient(t, client.Options{Retry: client.Retry{Attempts: 2}}, func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, api.Unavailable) })
			_ = c.Admin().Verify(t.Context())
			pauses[time.Since(begun)] = true
		}
		if len(pauses) < 5 {
			t.Errorf("20 pauses were %v", pauses)
		}
	})
}

// TestFailover: a failed request goes to the next URL at once, and later requests stay with the URL
// that answered; each URL is tried before the client pauses.
func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hosts []string
		down := map[string]bool{"one": true}
		begun := time.Now()
		o := client.Options{URLs: []string{"https://one/", "https://two/base/", "https://three"}, Retry: client.Retry{Attempts: 2}}
		c := brokenClient(t, o, &hosts, down)
		for range 2 {
			if err := c.Admin().Verify(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		down["two"], down["three"] = true, true
		if time.Since(begun) > 0 {
			t.Errorf("the failover took %v", time.Since(begun))
		}
		err := c.Admin().Verify(t.Context())
		want := []string{"one/v1/auth/verify", "two/base/v1/auth/verify", "two/base/v1/auth/verify"}
		want = append(want, "two/base/v1/auth/verify", "three/v1/auth/verify", "one/v1/auth/verify", "two/base/v1/auth/verify", "three/v1/auth/verify", "one/v1/auth/verify")
		if !slices.Equal(hosts, want) || err == nil || !strings.Contains(err.Error(), "tried 6 times") {
			t.Errorf("the requests went to %v, and failed with %v", hosts, err)
		}
		if d := time.Since(begun); d < 25*time.Millisecond || d > 50*time.Millisecond {
			t.Errorf("between two rounds is a pause of %v", d)
		}
	})
}

// brokenTransport is a transport to hosts, some of which are down.
type brokenTransport struct {
	hosts *[]string
	down  map[string]bool
}

func (b brokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	*b.hosts = append(*b.hosts, r.URL.Host+r.URL.Path)
	if b.down[r.URL.Host] {
		return nil, errors.New("connection refused")
	}
	return direct(func(w http.ResponseWriter, _ *http.Request) { answer(w, nil) }).RoundTrip(r)
}

func brokenClient(t *testing.T, o client.Options, hosts *[]string, down map[string]bool) *client.Client {
	o.HTTPClient = &http.Client{Transport: brokenTransport{hosts, down}}
	return newClient(t, o)
}

// hostile is a transport that loses answers, cuts them off, delays them beyond the
// time limit, or answers instead of the service.
type hostile struct {
	workers map[string]http.Handler // by host
	mu      sync.Mutex
	random  *rand.Rand
}

func (h *hostile) rollFault() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.random.IntN(10)
}

func (h *hostile) RoundTrip(r *http.Request) (*http.Response, error) {
	choice := h.rollFault()
	if choice == 0 {
		return nil, errors.New("connection refused")
	}
	if choice == 1 {
		return direct(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusServiceUnavailable) }).RoundTrip(r)
	}
	response, err := direct(h.workers[r.URL.Host].ServeHTTP).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	switch {
	case err != nil || choice == 2:
		return nil, errors.New("the answer is lost")
	case choice == 3:
		body = body[:len(body)/2]
	case choice == 4:
		<-r.Context().Done() // slower than the time limit
		return nil, r.Context().Err()
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// TestHostileTransport: 8 clients take IDs from two workers through connections that fail half
// of the time. No ID comes twice, and those of a handle increase. The time is virtual: only
// the answers that are to be late come after the time limit.
func TestHostileTransport(t *testing.T) {
	seed := seed.Of(t)
	synctest.Test(t, func(t *testing.T) {
		shared := storetest.Memory(t)
		workers := map[string]http.Handler{"one": newWorker(t, shared), "two": newWorker(t, shared)}
		admin := newClient(t, client.Options{URLs: []string{"https://one"}, HTTPClient: &http.Client{Transport: direct(workers["one"].ServeHTTP)}})
		save(t, admin, "increment", `{"key": "k", "base": 0}`)
		var all sync.WaitGroup
		results := make([][]int64, 8)
		for i := range results {
			c := newClient(t, client.Options{
				URLs: []string{"https://one", "https://two"}, Retry: client.Retry{Attempts: 20, First: time.Microsecond, Max: time.Millisecond},
				HTTPClient: &http.Client{Transport: &hostile{workers: workers, random: rand.New(rand.NewPCG(seed, uint64(i)))}},
			})
			all.Go(func() { results[i] = takeMany(t, c, 1000) })
		}
		all.Wait()
		seen := map[int64]bool{}
		for i, ids := range results {
			if !slices.IsSorted(ids) || len(ids) != 1000 {
				t.Errorf("the IDs of client %d do not increase: %v", i, ids)
			}
			for _, id := range ids {
				if seen[id] {
					t.Errorf("%d came twice", id)
				}
				seen[id] = true
			}
		}
	})
}

// takeMany takes n IDs, one after the other.
func takeMany(t *testing.T, c *client.Client, n int) (ids []int64) {
	for range n {
		id, err := c.Increment("k").Next(t.Context())
		if err != nil {
			t.Error(err)
			break
		}
		ids = append(ids, id)
	}
	return ids
}
