// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/client"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

func fakeClient(t *testing.T, o client.Options, serve func(http.ResponseWriter, *http.Request)) *client.Client {
	t.Helper()
	if o.URLs == nil {
		o.URLs = []string{"https://one"}
	}
	o.HTTPClient = &http.Client{Transport: direct(serve)}
	return newClient(t, o)
}

func next(t *testing.T, h *client.Sequence[int64]) int64 {
	t.Helper()
	id, err := h.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestPrefetch: the first call fetches 16 IDs. After half of them, the handle fetches more
// in the background: a caller that is not faster than the service never waits again.
func TestPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counter{delay: 10 * time.Millisecond}
		c := fakeClient(t, client.Options{}, s.serve)
		h := c.Increment("k")
		for want := int64(1); want <= 7; want++ {
			if id := next(t, h); id != want {
				t.Fatalf("got %d, want %d", id, want)
			}
		}
		if synctest.Wait(); !slices.Equal(s.requestSizes(), []int{16}) {
			t.Fatalf("before half of the segment was given, the requests were for %v", s.requestSizes())
		}
		next(t, h)
		time.Sleep(11 * time.Millisecond)
		if synctest.Wait(); !slices.Equal(s.requestSizes(), []int{16, 16}) {
			t.Fatalf("after half of it, the requests were for %v", s.requestSizes())
		}
		for want := int64(9); want <= 1000; want++ {
			if id := next(t, h); id != want {
				t.Fatalf("got %d, want %d", id, want)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if m := c.Metrics(); m.Waits != 1 || m.Fetched < 1000 || m.Fetched > 1032 {
			t.Errorf("the metrics are %+v", m)
		}
	})
}

// TestGoal: a caller that is faster than the service makes the handle ask for more IDs at
// once, up to Ahead; a slow caller makes it ask for fewer.
func TestGoal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counter{delay: 10 * time.Millisecond}
		h := fakeClient(t, client.Options{Ahead: 2500}, s.serve).Increment("k")
		for range 20_000 {
			next(t, h)
		}
		sizes := s.requestSizes()
		if slices.Max(sizes) != 1000 || !slices.IsSorted(sizes) {
			t.Errorf("in a hurry, the requests were for %v", sizes)
		}
		synctest.Wait()
		ahead := int(s.lastGiven()) - 20_000
		if ahead > 2500+1000+1000 {
			t.Errorf("%d IDs were fetched ahead", ahead)
		}
		for range 8000 {
			next(t, h)
			time.Sleep(time.Second)
		}
		if sizes := s.requestSizes(); sizes[len(sizes)-1] > 64 {
			t.Errorf("at one ID a second, the last request was for %d", sizes[len(sizes)-1])
		}
	})
}

// TestConcurrentCallers: 8 goroutines share a handle. Together they get each fetched ID once,
// without gaps, and each goroutine gets increasing IDs.
func TestConcurrentCallers(t *testing.T) {
	s := &counter{}
	h := fakeClient(t, client.Options{}, s.serve).Increment("k")
	var all sync.WaitGroup
	results := make([][]int64, 8)
	for i := range results {
		all.Go(func() {
			for range 5000 {
				id, err := h.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				results[i] = append(results[i], id)
			}
		})
	}
	all.Wait()
	for i, ids := range results {
		if !strictly(ids) {
			t.Errorf("the IDs of goroutine %d do not increase", i)
		}
	}
	ids := slices.Sorted(slices.Values(slices.Concat(results...)))
	if !strictly(ids) || ids[0] != 1 || ids[len(ids)-1] != 40_000 {
		t.Errorf("40000 IDs are from %d to %d", ids[0], ids[len(ids)-1])
	}
}

// TestFailedPrefetch: callers see no error of a background request as long as there are IDs.
// Then a call returns the error, and the next call sends a new request.
func TestFailedPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, down := &counter{}, false
		h := fakeClient(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
			if down {
				refuse(w, http.StatusServiceUnavailable, api.Unavailable)
				return
			}
			s.serve(w, r)
		}).Increment("k")
		next(t, h)
		down = true
		for range 15 {
			next(t, h)
		}
		if id, err := h.Next(t.Context()); err == nil {
			t.Fatal("the service is down, and gave", id)
		}
		down = false
		if id := next(t, h); id != 17 {
			t.Error(id)
		}
	})
}

// TestWaitEndsWithContext: a caller does not wait for the service after its context ends; the
// answer is for the next caller.
func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counter{delay: time.Second}
		h := fakeClient(t, client.Options{}, s.serve).Increment("k")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := h.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if id := next(t, h); id != 1 || len(s.requestSizes()) != 1 {
			t.Error(id, s.requestSizes())
		}
		if id, err := h.Next(ctx); id != 2 || err != nil {
			t.Error("with IDs in memory, a context that has ended does not matter, but", err)
		}
	})
}

// TestFormattedAge: IDs that were fetched too long ago are left out, and fewer are
// fetched.
func TestFormattedAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []string
		h := fakeClient(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
			sizes = append(sizes, r.URL.Query().Get("size"))
			id := time.Now().Format(time.TimeOnly)
			answer(w, api.Texts{IDs: []string{id + " a", id + " b"}})
		}).Formatted("k")
		for _, step := range []struct {
			pause time.Duration
			want  string
		}{{0, "00:00:00 a"}, {9 * time.Second, "00:00:00 b"}, {0, "00:00:00 a"}, {2 * time.Second, "00:00:09 a"}, {time.Minute, "00:01:11 a"}, {time.Minute, "00:02:11 a"}} {
			time.Sleep(step.pause)
			synctest.Wait()
			id, err := h.Next(t.Context())
			if err != nil || id != step.want {
				t.Errorf("at %s: %q, %v; want %q", time.Now().Format(time.TimeOnly), id, err, step.want)
			}
		}
		synctest.Wait() // until no request is under way
		if last := sizes[len(sizes)-1]; last > "4" || len(last) > 1 {
			t.Errorf("the requests were for %v", sizes)
		}
	})
}

// TestOrder: when another worker answers with numbers below those given already, the handle
// leaves them out, unless any order is allowed.
func TestOrder(t *testing.T) {
	for _, ahead := range []int{0, 1} {
		t.Run(fmt.Sprint("Ahead ", ahead), func(t *testing.T) { testOrder(t, ahead) })
	}
}

func testOrder(t *testing.T, ahead int) {
	for _, any := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			workers := map[string]*counter{"one": {last: 5000}, "two": {last: 0}}
			host := "one"
			c := fakeClient(t, client.Options{AnyOrder: any, Ahead: ahead}, func(w http.ResponseWriter, r *http.Request) { workers[host].serve(w, r) })
			h := c.Increment("k")
			ids := []int64{next(t, h)}
			synctest.Wait() // no request is under way
			host = "two"
			for range 6000 {
				ids = append(ids, next(t, h))
			}
			if strictly(ids) == any || slices.Min(ids) != map[bool]int64{true: 1, false: 5001}[any] {
				t.Errorf("any order: %v; the IDs are from %d to %d", any, slices.Min(ids), slices.Max(ids))
			}
			if d := c.Metrics().Discarded; (d >= 5000) == any {
				t.Errorf("any order: %v; %d were left out", any, d)
			}
		})
	}
}

// strictly reports whether the IDs increase strictly.
func strictly(ids []int64) bool {
	return slices.IsSorted(ids) && len(slices.Compact(slices.Clone(ids))) == len(ids)
}

// TestOrderGivesUp: a sequence that was moved back is an error, not an endless
// search.
func TestOrderGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counter{last: 100_000_000}
		h := fakeClient(t, client.Options{}, s.serve).Increment("k")
		for range 16 {
			next(t, h)
		}
		synctest.Wait()
		s.restart(0, 1)
		for range 16 {
			next(t, h)
		}
		if id, err := h.Next(t.Context()); !errors.Is(err, client.ErrOrder) {
			t.Error(id, err)
		}
	})
}

// TestBadAnswers: an answer that is not the ID service's is an error.
func TestBadAnswers(t *testing.T) {
	for name, body := range map[string]string{
		"no IDs":           `{"code":0,"message":"success","data":{"id":[],"ids":[]}}`,
		"no data":          `{"code":0,"message":"success"}`,
		"another type":     `{"code":0,"message":"success","data":{"id":["a"]}}`,
		"too many":         `{"code":0,"message":"success","data":{"id":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}}`,
		"up and down":      `{"code":0,"message":"success","data":{"id":[1,2,1]}}`,
		"twice":            `{"code":0,"message":"success","data":{"id":[1,1]}}`,
		"no code":          `{"ids":[1]}`,
		"no JSON":          `<html>`,
		"cut off":          `{"code":0,"message":"success","data":{"id":[1,2,`,
		"a number too big": `{"code":0,"message":"success","data":{"id":[9223372036854775808]}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			h := fakeClient(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }).Increment("k")
			if id, err := h.Next(t.Context()); !errors.Is(err, client.ErrAnswer) {
				t.Errorf("%s: %d, %v", name, id, err)
			}
		})
	}
	for name, body := range map[string]string{
		"no token":        `{"code":0,"message":"success","data":{"key":"k"}}`,
		"no time":         `{"code":0,"message":"success","data":{"key":"k","token":"t","expires_at":"soon"}}`,
		"token of a type": `{"code":0,"message":"success","data":{"key":"k","token":1}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			admin := fakeClient(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }).Admin()
			var failed *client.RequestError
			if token, _, err := admin.Token(t.Context(), "k"); !errors.Is(err, client.ErrAnswer) || !errors.As(err, &failed) || failed.Key != "k" || token != "" {
				t.Errorf("%s: %v, %v", name, token, err)
			}
		})
	}
}
