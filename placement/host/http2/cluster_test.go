// SPDX-License-Identifier: Apache-2.0

package http2_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/http2"
)

// process is a process of a cluster on loopback.
type process struct {
	*host.Host
	add   *host.Method[int, int]
	where *host.Method[int, string]
	hang  *host.Method[int, int]
	began chan struct{} // a hang runs
}

// sums has the sums of the actors. Only one process at a time may have an actor.
type sums struct {
	mu   sync.Mutex
	byID map[string]int
}

type actor struct {
	process *process
	sums    *sums
	id      string
}

func (a *actor) add(_ context.Context, n int) (int, error) {
	a.sums.mu.Lock()
	defer a.sums.mu.Unlock()
	a.sums.byID[a.id] += n
	return a.sums.byID[a.id], nil
}

func (a *actor) where(context.Context, int) (string, error) {
	owner, _ := a.process.Member()
	return owner.Name, nil
}

func (a *actor) hangUntilDone(ctx context.Context, _ int) (int, error) {
	a.process.began <- struct{}{}
	<-ctx.Done()
	return 0, ctx.Err()
}

func start(t testing.TB, db kv.Database, name string, s *sums) *process {
	t.Helper()
	transport, err := http2.Listen("127.0.0.1:0", http2.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{began: make(chan struct{}, 1)}
	p.Host, err = host.New(db, host.Options{Name: name, Transport: transport, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	kind, err := host.Register(p.Host, "actor", func(_ context.Context, a *host.Activation) (*actor, error) {
		return &actor{p, s, a.Key().ID}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var errs [4]error
	p.add, errs[0] = host.Handle(kind, "add", (*actor).add)
	p.where, errs[1] = host.Handle(kind, "where", (*actor).where)
	p.hang, errs[2] = host.Handle(kind, "hang", (*actor).hangUntilDone)
	errs[3] = p.Start(t.Context())
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return p
}

func newClient(t *testing.T, db kv.Database) *host.Client {
	t.Helper()
	transport, err := http2.NewClient(http2.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := host.NewClient(db, host.Options{Transport: transport})
	if err == nil {
		err = client.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestCluster: three processes and a client call the same actors over sockets, while one of the
// processes leaves.
func TestCluster(t *testing.T) {
	db, s := enginetest.InProcess(t), &sums{byID: make(map[string]int)}
	processes := []*process{start(t, db, "a", s), start(t, db, "b", s), start(t, db, "c", s)}
	client := newClient(t, db)
	const ids, rounds = 20, 10
	var group sync.WaitGroup
	left := make(chan struct{})
	for i := range ids {
		callers := []host.Caller{processes[0], processes[1], client}
		group.Go(func() {
			for round := range rounds {
				for _, caller := range callers {
					if err := caller.Call(t.Context(), placement.Key{Kind: "actor", ID: fmt.Sprint(i)}, "add", 1, nil); err != nil {
						t.Error(err)
					}
				}
				if i == 0 && round == 3 {
					close(left)
				}
			}
		})
	}
	<-left
	if err := processes[2].Stop(t.Context()); err != nil {
		t.Errorf("Stop while it is called: %v", err)
	}
	group.Wait()
	for i := range ids {
		if got := s.byID[fmt.Sprint(i)]; got != 3*rounds {
			t.Errorf("%d: %d of %d calls were handled", i, got, 3*rounds)
		}
	}
	for _, stop := range []func(context.Context) error{client.Stop, processes[1].Stop, processes[0].Stop} {
		if err := stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestRemoteIsLikeLocal: a caller gets the same from another process as from its own: results,
// errors, the end of its context.
func TestRemoteIsLikeLocal(t *testing.T) {
	db, s := enginetest.InProcess(t), &sums{byID: make(map[string]int)}
	a, b := start(t, db, "a", s), start(t, db, "b", s)
	id := ""
	for i := 0; ; i++ {
		id = fmt.Sprint(i)
		if name, err := a.where.Call(t.Context(), id, 0); err != nil {
			t.Fatal(err)
		} else if name == "b" {
			break
		}
	}
	for name, caller := range map[string]*process{"remote": a, "local": b} {
		if err := caller.Call(t.Context(), placement.Key{Kind: "actor", ID: id}, "none", 0, nil); !errors.Is(err, host.ErrNoMethod) {
			t.Errorf("%s: an unknown method: %v", name, err)
		}
		if err := caller.Call(t.Context(), placement.Key{Kind: "actor", ID: id}, "add", "text", nil); !errors.Is(err, host.ErrPayload) || !strings.Contains(err.Error(), "the argument of add of actor/"+id) {
			t.Errorf("%s: a wrong argument: %v", name, err)
		}
		if err := caller.Call(t.Context(), placement.Key{Kind: "actor", ID: id}, "add", strings.Repeat("x", 2<<20), nil); !errors.Is(err, host.ErrTooLarge) {
			t.Errorf("%s: a large argument: %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := caller.hang.Call(ctx, id, 0)
			failed <- err
		}()
		<-b.began
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a call that was cancelled: %v", name, err)
		}
		if got, err := caller.add.Call(t.Context(), id, 0); err != nil { // the handler has returned: its context has ended
			t.Errorf("%s: the call after it: %v, %v", name, got, err)
		}
	}
	for _, p := range []*process{a, b} {
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	db, s := enginetest.InProcess(b), &sums{byID: make(map[string]int)}
	one, two := start(b, db, "a", s), start(b, db, "b", s)
	for _, bench := range []struct {
		name  string
		owner string
	}{{"local", "a"}, {"remote", "b"}} {
		id := ""
		for i := 0; ; i++ {
			id = fmt.Sprint(i)
			if name, err := one.where.Call(b.Context(), id, 0); err != nil {
				b.Fatal(err)
			} else if name == bench.owner {
				break
			}
		}
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := one.add.Call(b.Context(), id, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(bench.name+", parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := one.add.Call(b.Context(), id, 1); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
	_, _ = one.Stop(context.Background()), two.Stop(context.Background())
}
