// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
)

// TestWorkers checks that each controller lists the workers of all controllers with their
// load, and lists a worker no longer once it has left.
func TestWorkers(t *testing.T) {
	bubble(t, func(s *site) {
		a, b := s.startController("a", 0), s.startController("b", 5*time.Minute)
		after(time.Second) // their first read is over: what comes is not a leftover
		load := Load{RequestsPerSecond: 12.5, Cached: 700, Ready: true}
		client, stop := s.startWorker(ClientOptions{Address: "https://w1:8080", Version: "1.2", Load: func() Load { return load }}, "a")
		s.startWorker(ClientOptions{Address: "http://w2:8080"}, "b", "a")
		after(2 * time.Second)
		for _, n := range []*node{a, b} {
			list := s.listWorkers(n)
			if len(list) != 2 || list[0].WorkerID == list[1].WorkerID {
				s.Fatalf("%s lists %+v", n.host, list)
			}
			found := false
			for _, w := range list {
				found = found || w.Address == "https://w1:8080" && w.Version == "1.2" && w.Load == load && !w.Started.IsZero()
			}
			if !found {
				s.Errorf("%s lists %+v", n.host, list)
			}
		}
		asked, err := client.Workers(s.Context())
		if diff := cmp.Diff(s.listWorkers(a), asked.Items); diff != "" || err != nil {
			s.Errorf("the client is told (-want +got): %v\n%s", err, diff)
		}
		stop()
		after(time.Second)
		if list := s.listWorkers(b); len(list) != 1 || list[0].Address != "http://w2:8080" {
			s.Errorf("after one left: %+v", list)
		}
	})
}

// TestWorkerDies checks that a worker without heartbeats is listed for as long as its
// lease lasts, and that the leader then removes its document.
func TestWorkerDies(t *testing.T) {
	bubble(t, func(s *site) {
		a, b := s.startController("a", 0), s.startController("b", -time.Minute)
		s.startWorker(ClientOptions{}, "a")
		after(25 * time.Second)
		s.network.setFaults("a", true, false) // heartbeats come every 10 s, at most a second early
		after(18 * time.Second)
		if len(s.listWorkers(a)) != 1 || len(s.listWorkers(b)) != 1 {
			s.Errorf("with a lease in force: %+v, %+v", s.listWorkers(a), s.listWorkers(b))
		}
		after(15 * time.Second)
		if len(s.listWorkers(a)) != 0 || len(s.listWorkers(b)) != 0 {
			s.Errorf("after its lease: %+v, %+v", s.listWorkers(a), s.listWorkers(b))
		}
		after(time.Minute)
		if docs, err := s.store.List(s.Context(), store.Workers, store.ListOptions{Prefix: recordPrefix}); len(docs) != 0 || err != nil {
			s.Errorf("%d documents are left (%v)", len(docs), err)
		}
	})
}

// TestCopy starts controllers on a store that was copied: they do not send clients to the workers of
// the original. A worker of their own they list at once, or, if clocks differ, after its next heartbeat.
func TestCopy(t *testing.T) {
	bubble(t, func(s *site) {
		original := s.startController("a", 0)
		s.startWorker(ClientOptions{Address: "http://original:1"}, "a")
		after(time.Second)
		original.kill() // nothing of the original reaches this store any more
		after(31 * time.Second)
		copied := s.startController("b", 0)
		after(time.Second)
		if b, err := copied.Balance(s.Context()); len(s.listWorkers(copied)) > 0 || len(b.Targets) > 0 || err != nil {
			s.Errorf("the copy sends clients to %+v, %v", b.Targets, err)
		}
		s.startWorker(ClientOptions{Address: "http://copy:1"}, "b")
		after(time.Second)
		again, ahead := s.startController("c", 0), s.startController("d", time.Hour)
		after(time.Second)
		if list := s.listWorkers(again); len(list) != 1 || list[0].Address != "http://copy:1" {
			s.Errorf("a further controller lists %+v", list)
		}
		if list := s.listWorkers(ahead); len(list) != 0 {
			s.Errorf("one with a clock that is ahead lists %+v at once", list)
		}
		after(10 * time.Second)
		if list := s.listWorkers(ahead); len(list) != 1 || list[0].Address != "http://copy:1" {
			s.Errorf("after a heartbeat it lists %+v", list)
		}
	})
}

// TestFailover checks that a worker goes on with another controller, as the same
// worker, within a heartbeat.
func TestFailover(t *testing.T) {
	bubble(t, func(s *site) {
		a, b := s.startController("a", 0), s.startController("b", 0)
		c, _ := s.startWorker(ClientOptions{}, "a", "b")
		after(time.Second)
		was := c.State()
		if !was.Connected || !was.Registered || was.Note != "" {
			s.Fatalf("%+v", was)
		}
		a.kill()
		after(16 * time.Second)
		if is := c.State(); !is.Connected || is.WorkerID != was.WorkerID || is.Left < 20*time.Second {
			s.Errorf("%+v, was %+v", is, was)
		}
		if list := s.listWorkers(b); len(list) != 1 || list[0].WorkerID != was.WorkerID {
			s.Errorf("listed: %+v", list)
		}
	})
}

// TestControllersLost checks that a worker which loses all controllers says so, keeps
// its worker id until its lease ends, and registers when one is back.
func TestControllersLost(t *testing.T) {
	bubble(t, func(s *site) {
		s.startController("a", 0)
		s.startController("b", 0)
		s.network.setFaults("a", true, false)
		s.network.setFaults("b", true, false)
		c, _ := s.startWorker(ClientOptions{}, "a", "b")
		after(time.Second)
		if st := c.State(); st.Connected || st.Registered || st.Note == "" {
			s.Errorf("before it is registered: %+v", st)
		}
		s.network.setFaults("a", false, false)
		s.network.setFaults("b", false, false)
		for range 20 { // seconds
			if after(time.Second); c.State().Registered {
				break
			}
		}
		id := c.State().WorkerID
		s.network.setFaults("a", true, false)
		s.network.setFaults("b", true, false)
		after(25 * time.Second)
		if st := c.State(); st.Connected || !st.Registered || st.WorkerID != id || st.Err == nil || !strings.Contains(st.Note, "lasts for") {
			s.Errorf("without controllers: %+v", st)
		}
		after(5 * time.Second)
		if st := c.State(); st.Registered || st.Left != 0 || !strings.Contains(st.Note, "has ended") {
			s.Errorf("after the lease: %+v", st)
		}
		after(time.Hour)
		s.network.setFaults("b", false, false)
		after(20 * time.Second)
		if st := c.State(); !st.Connected || !st.Registered {
			s.Errorf("with a controller again: %+v", st)
		}
	})
}

// TestStaleWorker checks that a worker which was stopped for longer than its lease
// gets another worker id if its own was given to another.
func TestStaleWorker(t *testing.T) {
	defer func(l snowflake.Layout) { workerIDs.Layout = l }(workerIDs.Layout)
	workerIDs.Layout.WorkerIDSize, workerIDs.Layout.SeqSize = 4, 18
	bubble(t, func(s *site) {
		s.startController("a", 0)
		s.network.hosts["proxy"] = s.network.hosts["a"] // the network of the first worker
		stale, _ := s.startWorker(ClientOptions{}, "proxy")
		after(time.Second)
		id := stale.State().WorkerID
		s.network.setFaults("proxy", true, false)
		after(61 * time.Second) // its lease, and as long again for clocks that differ
		taken := map[int64]bool{}
		for i := range 1 << workerIDs.Layout.WorkerIDSize {
			r := Registration{Instance: fmt.Sprint("other-", i), Address: "http://w:1"}
			a, err := s.network.registerSilent(s, r)
			if err != nil {
				s.Fatal(err)
			}
			if taken[a.WorkerID] {
				s.Fatalf("worker id %d is leased twice", a.WorkerID)
			}
			taken[a.WorkerID] = true
		}
		if !taken[id] {
			s.Fatal("the worker id of the stale worker is not free")
		}
		s.network.setFaults("proxy", false, false)
		after(10 * time.Second)
		if st := stale.State(); st.Registered {
			s.Errorf("it is registered as %d, though all worker ids are leased", st.WorkerID)
		}
		after(time.Minute)
		if st := stale.State(); !st.Registered {
			s.Errorf("%+v", st)
		}
	})
}

// registerSilent registers a worker that sends no heartbeats.
func (n *network) registerSilent(s *site, r Registration) (a Assignment, err error) {
	w := newWire(ClientOptions{Endpoints: []string{"http://a"}, Token: "admin", Timeout: time.Second, Transport: n})
	return a, w.postJSON(s.Context(), RegisterPath, r, &a)
}

// TestLostAnswers checks that a worker is listed once even if answers to it are lost.
func TestLostAnswers(t *testing.T) {
	bubble(t, func(s *site) {
		a := s.startController("a", 0)
		s.network.setFaults("a", false, true)
		c, _ := s.startWorker(ClientOptions{}, "a")
		after(20 * time.Second)
		if st := c.State(); st.Registered {
			s.Errorf("%+v", st)
		}
		s.network.setFaults("a", false, false)
		after(10 * time.Second)
		st, list := c.State(), s.listWorkers(a)
		if !st.Registered || len(list) != 1 || list[0].WorkerID != st.WorkerID {
			s.Errorf("%+v is listed as %+v", st, list)
		}
	})
}

// TestLateHeartbeat checks that a heartbeat which arrives late does not hide a later
// one.
func TestLateHeartbeat(t *testing.T) {
	bubble(t, func(s *site) {
		a := s.startController("a", 0)
		r := Registration{Instance: "w", Address: "http://w:1", Sequence: 1}
		assigned, err := a.Register(s.Context(), r)
		if err != nil {
			s.Fatal(err)
		}
		for _, sequence := range []int64{3, 2} {
			r.Sequence, r.RequestsPerSecond = sequence, float64(sequence)
			if _, err := a.Heartbeat(s.Context(), Heartbeat{Registration: r, LeaseKey: assigned.LeaseKey}); err != nil {
				s.Fatal(err)
			}
		}
		after(2 * time.Second)
		if list := s.listWorkers(a); len(list) != 1 || list[0].RequestsPerSecond != 3 {
			s.Errorf("%+v", list)
		}
	})
}

// TestStoreFails checks that a worker keeps its worker id while the store fails for less than
// a lease.
func TestStoreFails(t *testing.T) {
	bubble(t, func(s *site) {
		a := s.startController("a", 0)
		c, _ := s.startWorker(ClientOptions{}, "a")
		after(time.Second)
		id := c.State().WorkerID
		s.setFault(func(storetest.Call) storetest.Fault { return storetest.Fault{Lose: true} })
		after(20 * time.Second)
		if st := c.State(); st.Connected || !st.Registered {
			s.Errorf("%+v", st)
		}
		s.setFault(nil)
		after(11 * time.Second)
		if st := c.State(); !st.Connected || st.WorkerID != id {
			s.Errorf("%+v, want worker id %d", st, id)
		}
		if list := s.listWorkers(a); len(list) != 1 {
			s.Errorf("%+v", list)
		}
	})
}

// TestBalance checks that idle workers get more of the requests, and those that are not
// ready none.
func TestBalance(t *testing.T) {
	bubble(t, func(s *site) {
		a := s.startController("a", 0)
		for i, load := range []Load{{RequestsPerSecond: 0, Ready: true}, {RequestsPerSecond: 300, Ready: true}, {RequestsPerSecond: 900, Ready: true}, {}} {
			s.startWorker(ClientOptions{Address: fmt.Sprint("http://w", i), Load: func() Load { return load }}, "a")
		}
		after(2 * time.Second)
		b, err := a.Balance(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		weights := map[string]int{}
		for _, target := range b.Targets {
			weights[target.Address] = target.Weight
		}
		want := map[string]int{"http://w0": 100, "http://w1": 57, "http://w2": 31} // the mean is 400
		if fmt.Sprint(weights) != fmt.Sprint(want) || b.TTL != 10 {
			s.Errorf("got %v for %v s, want %v", weights, b.TTL, want)
		}
	})
}

// TestBusyController checks that a worker turns to another controller when one
// answers that it cannot.
func TestBusyController(t *testing.T) {
	bubble(t, func(s *site) {
		s.startController("b", 0)
		s.network.hosts["a"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			send(w, 503, api.Reply[any]{Code: api.Unavailable, Message: "busy"})
		})
		c, _ := s.startWorker(ClientOptions{}, "a", "b")
		after(100 * time.Millisecond)
		if st := c.State(); !st.Registered || !st.Connected {
			s.Errorf("%+v", st)
		}
	})
}

// TestForgottenWorker checks that a worker registers again if others end its lease,
// again at its next heartbeat.
func TestForgottenWorker(t *testing.T) {
	bubble(t, func(s *site) {
		a := s.startController("a", 0)
		c, _ := s.startWorker(ClientOptions{}, "a")
		after(time.Second)
		if err := a.Leave(s.Context(), Leave{Instance: c.self.Instance, LeaseKey: c.held.LeaseKey}); err != nil {
			s.Fatal(err)
		}
		after(10 * time.Second)
		if st, list := c.State(), s.listWorkers(a); !st.Connected || len(list) != 1 || list[0].WorkerID != st.WorkerID {
			s.Errorf("%+v is listed as %+v", st, list)
		}
	})
}

// TestSlowAnswer checks that a lease is counted from before the request.
func TestSlowAnswer(t *testing.T) {
	bubble(t, func(s *site) {
		h := s.startController("a", 0).Handler()
		s.network.hosts["a"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r)
			time.Sleep(4 * time.Second)
		})
		c, _ := s.startWorker(ClientOptions{}, "a")
		after(4 * time.Second)
		if st := c.State(); !st.Registered || st.Left > 27*time.Second {
			s.Errorf("%v are left, want about 26 s: %+v", st.Left, st)
		}
	})
}

// TestFormats reads the workers and the leader that controllers of earlier versions stored,
// and stores them.
func TestFormats(t *testing.T) {
	registration := Registration{
		Instance: "w1", Address: "https://w1:8080", Version: "1.2", Started: time.Date(2029, 12, 24, 0, 0, 0, 5000, time.UTC), Sequence: 7,
		Load: Load{RequestsPerSecond: 12.5, Cached: 700, Ready: true},
	}
	formats.Check(t, formats.Format{
		Name: "idbuilder/controller",
		Write: func(t *testing.T) (example string) {
			bubble(t, func(s *site) {
				if _, err := s.startController("a", 0).Register(s.Context(), registration); err != nil {
					s.Fatal(err)
				}
				after(time.Second)
				example = storetest.Dump(s, s.store, store.Workers)
			})
			return example
		},
		Mask: func(_ *testing.T, example string) string {
			example = regexp.MustCompile(`"worker_id":\d+,`).ReplaceAllString(example, `"worker_id":<random>,`)
			return regexp.MustCompile(`"holder":"[A-Z2-7]{26}"`).ReplaceAllString(example, `"holder":"<random>"`)
		},
		Read: func(t *testing.T, example string) {
			bubble(t, func(s *site) {
				storetest.Load(s, s.store, example)
				want := []Worker{{Registration: registration, Heartbeat: time.Now().Add(since).UTC()}}
				b := s.startController("b", 0)
				got := s.listWorkers(b)
				if len(got) == 1 && strings.Contains(example, fmt.Sprintf(`"worker_id":%d,`, got[0].WorkerID)) {
					want[0].WorkerID = got[0].WorkerID
				}
				if diff := cmp.Diff(want, got); diff != "" {
					s.Errorf("workers (-want +got):\n%s", diff)
				}
				_, is, err := newSeat(s.store, time.Minute).readHolder(s.Context())
				if err != nil || is.Term != 1 || len(is.Holder) != 26 {
					s.Errorf("the leader is %+v, %v", is, err)
				}
				after(time.Minute)
				if _, is, err = newSeat(s.store, time.Minute).readHolder(s.Context()); err != nil || is.Term != 2 || !b.leads.Load() {
					s.Errorf("the next leader is %+v, %v", is, err)
				}
			})
		},
	})
}
