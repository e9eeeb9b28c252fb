// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is the time of timestamp zero in the default layout.
var epoch = time.UnixMilli(DefaultCustomEpoch).UTC()

// manualClock is a clock that tests set, in milliseconds after the epoch.
type manualClock struct{ ms atomic.Int64 }

func newManualClock(ms int64) *manualClock {
	k := new(manualClock)
	k.ms.Store(ms)
	return k
}

func (k *manualClock) now() time.Time { return time.UnixMilli(DefaultCustomEpoch + k.ms.Load()) }

// tiny has numbers 0–3 in a millisecond, so that every test exhausts it.
var tiny = Layout{CustomEpoch: DefaultCustomEpoch, ReserveBits: 20, TimestampBits: 41, MachineBits: 2, SequenceBits: 1}

// from returns a random function that always answers n.
func from(n uint64) func() uint64 { return func() uint64 { return n } }

func TestNextCountsFromARandomNumber(t *testing.T) {
	k := newManualClock(1000)
	start := uint64(1_500_000)
	c := Must(newClient(Options{Now: k.now}, func() uint64 { return start }))
	for i := range 3 {
		id := Must(c.Next(t.Context()))
		if want := 1000<<22 | 1<<21 | ID(1_500_000+i); id != want {
			t.Errorf("ID %d is %b, want %b", i, id, want)
		}
	}
	k.ms.Store(1001)
	start = 7
	if id, want := Must(c.Next(t.Context())), ID(1001<<22|1<<21|7); id != want {
		t.Errorf("ID in the next millisecond is %b, want %b", id, want)
	}
}

func TestNextUsesTheWholeMillisecondThenWaits(t *testing.T) {
	const patience = 1000 // readings of the clock before it goes on
	k := newManualClock(1000)
	reads := 0
	now := func() time.Time {
		if reads++; reads == patience {
			k.ms.Store(1001)
		}
		return k.now()
	}
	c := Must(newClient(Options{Now: now, Layout: tiny}, from(1)))
	var got []ID
	for range 4 { // 1, 2, 3 of 0–3, then the next millisecond
		got = append(got, Must(c.Next(t.Context())))
	}
	want := []ID{1000<<3 | 4 | 1, 1000<<3 | 4 | 2, 1000<<3 | 4 | 3, 1001<<3 | 4 | 1}
	if !slices.Equal(got, want) {
		t.Errorf("IDs are %b, want %b", got, want)
	}
	if reads < patience {
		t.Errorf("the last ID came after %d readings of the clock; want it to wait for reading %d", reads, patience)
	}
}

func TestExhaustedWaitEndsWithContext(t *testing.T) {
	k := newManualClock(1000)
	c := Must(newClient(Options{Now: k.now, Layout: tiny}, from(3)))
	Must(c.Next(t.Context()))
	cause := errors.New("no more patience")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if id, err := c.Next(ctx); !errors.Is(err, cause) || id != 0 {
		t.Errorf("Next = %d, %v; want 0, %v", id, err, cause)
	}
	ids := make([]ID, 2)
	if n, err := c.NextN(ctx, ids); !errors.Is(err, cause) || n != 0 {
		t.Errorf("NextN = %d, %v; want 0, %v", n, err, cause)
	}
	k.ms.Store(1001)
	if _, err := c.Next(ctx); err != nil {
		t.Errorf("Next without a need to wait: %v; want an ID, whatever ctx says", err)
	}
}

func TestNextNSpansMilliseconds(t *testing.T) {
	// The clock goes on by one whenever it has been read 20 times.
	var reads atomic.Int64
	now := func() time.Time { return time.UnixMilli(DefaultCustomEpoch + 100 + reads.Add(1)/20) }
	c := Must(newClient(Options{Now: now, Layout: tiny}, rand.New(rand.NewPCG(1, 2)).Uint64))
	ids := make([]ID, 1000)
	if n, err := c.NextN(t.Context(), ids); n != len(ids) || err != nil {
		t.Fatalf("NextN = %d, %v; want %d", n, err, len(ids))
	}
	for i, id := range ids {
		if i > 0 && id <= ids[i-1] {
			t.Fatalf("ID %d, %b, is not greater than %b", i, id, ids[i-1])
		}
		if !tiny.IsFallback(id) || id>>44 != 0 {
			t.Fatalf("ID %d, %b, is not a fallback ID of the layout", i, id)
		}
	}
	if n, err := c.NextN(t.Context(), nil); n != 0 || err != nil {
		t.Errorf("NextN of nothing = %d, %v; want 0, nil", n, err)
	}
}

func TestNextNReturnsWhatItMadeBeforeAnError(t *testing.T) {
	k := newManualClock(1000)
	c := Must(newClient(Options{Now: k.now, Layout: tiny}, from(2)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ids := make([]ID, 5)
	n, err := c.NextN(ctx, ids)
	if want := []ID{1000<<3 | 4 | 2, 1000<<3 | 4 | 3, 0, 0, 0}; n != 2 || !errors.Is(err, context.Canceled) || !slices.Equal(ids, want) {
		t.Errorf("NextN = %d, %v with IDs %b; want 2, context.Canceled, %b", n, err, ids, want)
	}
}

func TestNextOutsideTheTimestampRange(t *testing.T) {
	last := int64(1<<41 - 1)
	for _, test := range []struct {
		name string
		ms   int64
		want error
	}{
		{"long before the epoch", -365 * 24 * 3600 * 1000, ErrBeforeCustomEpoch},
		{"one before the epoch", -1, ErrBeforeCustomEpoch},
		{"the epoch", 0, ErrBeforeCustomEpoch},
		{"first", 1, nil},
		{"last", last, nil},
		{"after the last", last + 1, ErrTimeOverflow},
		{"far after the last", 1 << 60, ErrTimeOverflow},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Must(NewClient(Options{Now: newManualClock(test.ms).now}))
			id, err := c.Next(t.Context())
			n, errN := c.NextN(t.Context(), make([]ID, 3))
			if !errors.Is(err, test.want) || !errors.Is(errN, test.want) {
				t.Fatalf("Next: %v, NextN: %v; want %v", err, errN, test.want)
			}
			if test.want == nil {
				if id <= 0 || n != 3 || id.Time().UnixMilli()-DefaultCustomEpoch != test.ms {
					t.Errorf("ID %d of %v, NextN %d; want a positive ID of timestamp %d, and 3", id, id.Time(), n, test.ms)
				}
				return
			}
			var tre *refusal.TimeRangeError
			if !errors.As(err, &tre) || tre.Time.UnixMilli()-DefaultCustomEpoch != test.ms || id != 0 || n != 0 {
				t.Errorf("Next = %d, %+v, NextN %d; want 0 and a TimeRangeError with the clock's time", id, err, n)
			}
		})
	}
}

func TestNewClientReportsAllFaults(t *testing.T) {
	_, err := NewClient(Options{Layout: Layout{ReserveBits: 1, TimestampBits: 50, MachineBits: 14, SequenceBits: 8}})
	if err == nil {
		t.Fatal("no error for a layout of 73 bits")
	}
	for _, want := range []string{"TimestampBits is 50", "are 73"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if l := Must(NewClient(Options{})).Layout(); l != DefaultLayout() {
		t.Errorf("layout of the zero options is %+v", l)
	}
}

// TestConcurrentIDsAscendAndNeverRepeat runs Next and NextN from many
// goroutines, on the default layout and on one that is always exhausted.
func TestConcurrentIDsAscendAndNeverRepeat(t *testing.T) {
	for _, test := range []struct {
		name   string
		layout Layout
		each   int // IDs of one goroutine
	}{
		{"default layout", DefaultLayout(), 40_000},
		{"tiny layout", tiny, 24},
	} {
		t.Run(test.name, func(t *testing.T) {
			const goroutines = 8
			c := Must(NewClient(Options{Layout: test.layout, MaxBackward: new(time.Duration(0))}))
			made := make([][]ID, goroutines)
			var published atomic.Int64 // the greatest ID that a call has returned
			var wg sync.WaitGroup
			for g := range goroutines {
				wg.Go(func() {
					ids := make([]ID, 0, test.each)
					for len(ids) < test.each {
						before := ID(published.Load())
						batch := make([]ID, min(1+len(ids)%7, test.each-len(ids)))
						if len(batch) == 1 {
							batch[0] = Must(c.Next(t.Context()))
						} else if _, err := c.NextN(t.Context(), batch); err != nil {
							t.Error(err)
						}
						if batch[0] <= before {
							t.Errorf("ID %d is not greater than %d, which was returned before the call", batch[0], before)
						}
						ids = append(ids, batch...)
						raise(&published, int64(batch[len(batch)-1]))
					}
					made[g] = ids
				})
			}
			wg.Wait()
			for g, ids := range made {
				if !slices.IsSorted(ids) {
					t.Errorf("IDs of goroutine %d do not ascend", g)
				}
			}
			all := slices.Concat(made...)
			slices.Sort(all)
			if distinct := len(slices.Compact(slices.Clone(all))); distinct != goroutines*test.each {
				t.Errorf("%d distinct IDs, want %d", distinct, goroutines*test.each)
			}
			if last := test.layout.Time(all[len(all)-1]); last.After(time.Now()) {
				t.Errorf("the last ID is of %v, after now", last)
			}
		})
	}
}

// TestOvertakenCallerIsNotAClockSetBack lets another caller enter a new
// millisecond whenever the first one has just read the clock.
func TestOvertakenCallerIsNotAClockSetBack(t *testing.T) {
	k := newManualClock(1000)
	var other func()
	now := func() time.Time {
		read := k.now()
		if run := other; run != nil {
			other = nil // it reads the clock as well
			k.ms.Add(1)
			run()
			other = run
		}
		return read
	}
	c := Must(NewClient(Options{Now: now, MaxBackward: new(time.Duration(0))}))
	Must(c.Next(t.Context()))
	var last ID
	other = func() { last = Must(c.Next(t.Context())) }
	if id, err := c.Next(t.Context()); err != nil || id <= last {
		t.Errorf("Next = %d, %v; want more than %d, which the other caller has", id, err, last)
	}
}

// TestOvershootNeverReachesTheTimestamp calls a client with a clock that stands
// still far more often than the word's number has room for.
func TestOvershootNeverReachesTheTimestamp(t *testing.T) {
	k := newManualClock(1000)
	layout := Layout{CustomEpoch: DefaultCustomEpoch, ReserveBits: 19, TimestampBits: 42, MachineBits: 2, SequenceBits: 1}
	c := Must(NewClient(Options{Now: k.now, Layout: layout}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ids := make([]ID, maxTake)
	room := 1 << c.era.Load().shift
	for range 2 * room / maxTake {
		if n, _ := c.NextN(ctx, ids); n > 4 {
			t.Fatalf("%d IDs in a millisecond of 4", n)
		}
	}
	if ts := c.era.Load().word.Load() >> c.era.Load().shift; ts != 1000 {
		t.Errorf("timestamp is %d after overshoot, want 1000", ts)
	}
	// The same after the clock was set back.
	k.ms.Store(990)
	c.clock.maxBackward = 0
	for range 2 * room / maxTake {
		_, _ = c.NextN(ctx, ids)
	}
	if ts := c.era.Load().word.Load() >> c.era.Load().shift; ts != 1000 {
		t.Errorf("timestamp is %d after calls with the clock set back, want 1000", ts)
	}
}

func TestMustPanics(t *testing.T) {
	want := errors.New("no id")
	defer func() {
		if got := recover(); got != want {
			t.Errorf("recovered %v, want %v", got, want)
		}
	}()
	Must(ID(1), want)
}
