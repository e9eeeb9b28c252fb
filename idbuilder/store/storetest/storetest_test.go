// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// wrongStore names the wrong store that a process of TestWrongStores checks.
const wrongStore = "KAZAHANA_WRONG_STORE"

// wrong has stores with one fault each, and the laws that must notice it.
var wrong = map[string]struct {
	make func(store.Store) store.Store
	laws []string
}{
	"right":           {func(s store.Store) store.Store { return s }, nil},
	"repeats":         {func(s store.Store) store.Store { return repeats{s} }, []string{"reserve", "goroutines"}},
	"skips":           {func(s store.Store) store.Store { return skips{s} }, []string{"reserve", "goroutines", "reserve_at_random"}},
	"float":           {func(s store.Store) store.Store { return floats{s} }, []string{"reserve_exactly", "reserve_at_random"}},
	"same version":    {func(s store.Store) store.Store { return sameVersion{s} }, []string{"reserve", "goroutines"}},
	"blind put":       {func(s store.Store) store.Store { return blindPut{s} }, []string{"documents", "document_races"}},
	"folds cases":     {func(s store.Store) store.Store { return foldsCases{s} }, []string{"names", "keys_of_documents"}},
	"prefix forgot":   {func(s store.Store) store.Store { return noPrefix{s} }, []string{"list_at_random"}},
	"deaf to context": {func(s store.Store) store.Store { return deaf{s} }, []string{"context"}},
	"open for ever":   {func(s store.Store) store.Store { return openForEver{s} }, []string{"close"}},
	"trims names":     {func(s store.Store) store.Store { return trims{s} }, []string{"names", "delete_sequence"}},
	"keeps sequences": {func(s store.Store) store.Store { return keepsSequences{s} }, []string{"delete_sequence"}},
}

type repeats struct{ store.Store }

func (s repeats) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	got, err := s.Store.Reserve(ctx, name, r)
	if err == nil && got.Version%7 == 2 && got.From > math.MinInt64+r.Step && r.Step == 1 {
		got.From-- // the last number of the range before
	}
	return got, err
}

type skips struct{ store.Store }

func (s skips) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	got, err := s.Store.Reserve(ctx, name, r)
	if err == nil && got.Version%3 == 2 {
		return s.Store.Reserve(ctx, name, r)
	}
	return got, err
}

type floats struct{ store.Store }

func (s floats) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	got, err := s.Store.Reserve(ctx, name, r)
	got.To = int64(float64(got.To))
	return got, err
}

type sameVersion struct{ store.Store }

func (s sameVersion) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	got, err := s.Store.Reserve(ctx, name, r)
	got.Version = 1
	return got, err
}

type blindPut struct{ store.Store }

func (s blindPut) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	if old, err := s.Get(ctx, kind, d.Key); err == nil {
		d.Version = old.Version
	}
	return s.Store.Put(ctx, kind, d)
}

type foldsCases struct{ store.Store }

func (s foldsCases) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	return s.Store.Reserve(ctx, strings.ToLower(name), r)
}

func (s foldsCases) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	d.Key = strings.ToLower(d.Key)
	return s.Store.Put(ctx, kind, d)
}

type noPrefix struct{ store.Store }

func (s noPrefix) List(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	o.Prefix = ""
	return s.Store.List(ctx, kind, o)
}

type deaf struct{ store.Store }

func (s deaf) Sequence(ctx context.Context, name string) (store.Sequence, error) {
	return s.Store.Sequence(context.WithoutCancel(ctx), name)
}

type openForEver struct{ store.Store }

func (openForEver) Close() error { return nil }

func (s openForEver) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	if r.Count == 3 { // of the goroutines that reserve until the store is closed
		return store.Range{}, store.ErrClosed
	}
	return s.Store.Reserve(ctx, name, r)
}

type trims struct{ store.Store }

func (s trims) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	if trimmed := strings.TrimRight(name, " "); trimmed != "" {
		name = trimmed
	}
	return s.Store.Reserve(ctx, name, r)
}

type keepsSequences struct{ store.Store }

func (keepsSequences) DeleteSequence(context.Context, string) (bool, error) { return true, nil }

// TestOneWrongStore is run by the processes of TestWrongStores; by itself it
// checks the right store.
func TestOneWrongStore(t *testing.T) {
	name := os.Getenv(wrongStore)
	if name == "" {
		name = "right"
	}
	var mu sync.Mutex
	media := map[string]kv.Database{}
	storetest.Run(t, storetest.Suite{Open: func(t *testing.T, medium string) store.Store {
		mu.Lock()
		defer mu.Unlock()
		if media[medium] == nil {
			media[medium] = enginetest.InProcess(t)
		}
		s, err := kvstore.New(media[medium], kvstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return wrong[name].make(s)
	}})
}

// TestWrongStores checks that the suite notices wrong stores.
func TestWrongStores(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		laws := wrong[name].laws
		if laws == nil {
			continue
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestOneWrongStore$/^("+strings.Join(laws, "|")+")$")
		cmd.Env = append(os.Environ(), wrongStore+"="+name)
		out, err := cmd.CombinedOutput()
		if !errors.As(err, new(*exec.ExitError)) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, law := range laws {
			if !strings.Contains(string(out), "--- FAIL: TestOneWrongStore/"+law+" ") {
				t.Errorf("%s: the law %q does not notice\n%s", name, law, out)
			}
		}
	}
}

// TestFaulty checks each fault of a faulty store.
func TestFaulty(t *testing.T) {
	inner := storetest.Memory(t)
	var fault storetest.Fault
	var asked []storetest.Call
	s := storetest.Faulty(inner, func(c storetest.Call) storetest.Fault {
		asked = append(asked, c)
		return fault
	})
	r := store.Reservation{Step: 1, Count: 1, Bound: 99}
	reserve := func(want int64, wantErr error) {
		t.Helper()
		if got, err := s.Reserve(t.Context(), "a", r); got.To != want || !errors.Is(err, wantErr) {
			t.Errorf("%+v: got %+v, %v, want up to %d, %v", fault, got, err, want, wantErr)
		}
	}
	reserve(1, nil)
	fault = storetest.Fault{Fail: true}
	reserve(0, storetest.ErrFault)
	fault = storetest.Fault{Lose: true, Err: store.ErrReadOnly}
	reserve(0, store.ErrReadOnly) // though it was made
	var order []string
	note := func(what string) func(context.Context) {
		return func(context.Context) { order = append(order, what) }
	}
	fault = storetest.Fault{Before: note("before"), After: note("after")}
	reserve(3, nil)
	if fmt.Sprint(order) != "[before after]" {
		t.Errorf("ran %v", order)
	}
	if want := (storetest.Call{Method: "Reserve", Name: "a"}); len(asked) != 4 || asked[3] != want {
		t.Errorf("was asked for %+v", asked)
	}
}
