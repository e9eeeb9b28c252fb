// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore keeps sequences in memory, and fails and waits as tests say.
type fakeStore struct {
	store.Store // nil: no other method is called

	calls atomic.Int64
	// running and most are how many reservations run now, and ran at a time.
	running, most atomic.Int64
	// before may fail a reservation before it is made; after may fail it once it is made, so
	// that the caller does not know the outcome. Both may be nil.
	before, after func() error

	mu    sync.Mutex
	delay time.Duration
	all   map[string]store.Sequence
}

func newFakeStore() *fakeStore { return &fakeStore{all: map[string]store.Sequence{}} }

func (f *fakeStore) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	f.calls.Add(1)
	n := f.running.Add(1)
	defer f.running.Add(-1)
	for m := f.most.Load(); n > m && !f.most.CompareAndSwap(m, n); m = f.most.Load() {
	}
	if err := r.Validate(); err != nil {
		return store.Range{}, err
	}
	if err := f.wait(ctx); err != nil {
		return store.Range{}, err
	}
	if f.before != nil {
		if err := f.before(); err != nil {
			return store.Range{}, err
		}
	}
	got, err := f.reserve(name, r)
	if err == nil && f.after != nil {
		err = f.after()
	}
	return got, err
}

func (f *fakeStore) setDelay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

func (f *fakeStore) wait(ctx context.Context) error {
	f.mu.Lock()
	delay := f.delay
	f.mu.Unlock()
	if delay == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fakeStore) reserve(name string, r store.Reservation) (store.Range, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, ok := f.all[name]
	if !ok {
		old.Value = r.Start
	}
	to, err := r.Advance(old.Value)
	if err != nil {
		return store.Range{}, err
	}
	f.all[name] = store.Sequence{Value: to, Version: old.Version + 1}
	return store.Range{From: old.Value, To: to, Version: old.Version + 1}, nil
}

func (f *fakeStore) Sequence(_ context.Context, name string) (store.Sequence, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.all[name]; ok {
		return s, nil
	}
	return store.Sequence{}, store.ErrNotFound
}

func (f *fakeStore) SetSequence(ctx context.Context, name string, value, version int64) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all[name].Version != version {
		return store.ErrConflict
	}
	f.all[name] = store.Sequence{Value: value, Version: version + 1}
	return nil
}

func newPool(t testing.TB, s store.Store, o sequence.Options) *sequence.Pool {
	t.Helper()
	p, err := sequence.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closePool(t, p) })
	return p
}

func closePool(t testing.TB, p *sequence.Pool) {
	t.Helper()
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func openSequence(t testing.TB, p *sequence.Pool, name string, spec sequence.Spec) *sequence.Sequence {
	t.Helper()
	s, err := p.Sequence(name, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
