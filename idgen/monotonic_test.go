// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"math/big"
	mathrand "math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// TestMonotonicAgainstBigIntegers compares monotonic with a model on big
// integers, with numbers near overflow, large steps and a clock that jumps.
func TestMonotonicAgainstBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.SampledFrom([]uint{uuidBits, ulidBits}).Draw(t, "width")
		limit := new(big.Int).Lsh(big.NewInt(1), width)
		var drawn, step uint64
		m := monotonic{
			draw: func() (uint64, uint64) { return ^uint64(0), drawn }, // near the end of the number
			step: func() uint64 { return step },
		}
		wall := rapid.Int64Range(1, 1000).Draw(t, "wall")
		var modelMs int64
		model := new(big.Int)
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			wall = max(1, wall+rapid.Int64Range(-3, 3).Draw(t, "jump"))
			drawn = rapid.Uint64().Draw(t, "drawn")
			step = rapid.Uint64Range(1, 1<<63).Draw(t, "step")

			grown := new(big.Int).Add(model, new(big.Int).SetUint64(step))
			if wall > modelMs || grown.Cmp(limit) >= 0 {
				modelMs = max(wall, modelMs+1)
				model.Sub(limit, new(big.Int).Lsh(big.NewInt(1), 64)) // the top bits all set,
				model.Add(model, new(big.Int).SetUint64(drawn))       // the low 64 as drawn
			} else {
				model = grown
			}

			ms, hi, lo, err := m.next(func() time.Time { return time.UnixMilli(wall) }, width)
			if err != nil {
				t.Fatal(err)
			}
			got := new(big.Int).SetUint64(hi)
			got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(lo))
			if int64(ms) != modelMs || got.Cmp(model) != 0 {
				t.Fatalf("next = %d, %x; want %d, %x", ms, got, modelMs, model)
			}
		}
	})
}

// TestMonotonicGoesOnBefore1970: a clock that was set back is not a fault, however
// far, once there is a timestamp to continue from.
func TestMonotonicGoesOnBefore1970(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	ulids, uuids := ULIDSource{Now: func() time.Time { return now }}, UUIDSource{Now: func() time.Time { return now }}
	firstULID, firstUUID := Must(ulids.Next(t.Context())), Must(uuids.Next(t.Context()))
	for _, now = range []time.Time{time.UnixMilli(0), time.UnixMilli(-1), {}} {
		nextULID, err := ulids.Next(t.Context())
		if err != nil || nextULID.Compare(firstULID) <= 0 {
			t.Errorf("%v: ULID %v, %v after %v", now, nextULID, err, firstULID)
		}
		nextUUID, err := uuids.Next(t.Context())
		if err != nil || nextUUID.Compare(firstUUID) <= 0 {
			t.Errorf("%v: UUID %v, %v after %v", now, nextUUID, err, firstUUID)
		}
		firstULID, firstUUID = nextULID, nextUUID
	}
}

// TestMonotonicDoubtsJumps: a wrong reading of the clock leaves no trace, be it of
// another day or year, and a clock that stays ahead is followed: after ten seconds for up
// to a day, later for more.
func TestMonotonicDoubtsJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newJumpyClock()
		ulids, uuids := ULIDSource{Now: k.now}, UUIDSource{Now: k.now}
		ulids.state.mono, uuids.state.mono = k.mono, k.mono
		next := func(what string, want time.Time) {
			t.Helper()
			for _, got := range []time.Time{Must(ulids.Next(t.Context())).Timestamp(), Must(uuids.Next(t.Context())).Time()} {
				if got.Sub(want).Abs() > time.Millisecond {
					t.Errorf("%s: an id of %v, want %v", what, got, want)
				}
			}
			time.Sleep(time.Second)
		}
		const year = 365 * 24 * time.Hour
		next("at first", k.right())
		for _, far := range []time.Duration{6 * time.Second, 23 * time.Hour, 10 * year} {
			for range 20 { // twenty wrong readings in forty seconds
				k.step(far)
				next("ahead", k.right())
				k.step(-far)
				next("right again", k.right())
			}
		}
		k.step(maxForward)
		next("a small step", k.now())
		k.step(23 * time.Hour)
		next("paused for a night", k.now().Add(-23*time.Hour))
		time.Sleep(jumpPatience)
		next("paused for a night, later", k.now())
		k.step(48 * time.Hour)
		next("two days ahead", k.now().Add(-48*time.Hour))
		time.Sleep(47 * time.Hour)
		next("two days ahead, for nearly as long", k.now().Add(-48*time.Hour))
		time.Sleep(time.Hour)
		next("two days ahead, for as long", k.now())
	})
}

// TestMonotonicBeforeTheClockIsSet: a small machine has the time of 1970 until it is
// told the right one.
func TestMonotonicBeforeTheClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newJumpyClock()
		off := time.Duration(k.now().UnixNano()) - time.Hour
		k.step(-off)
		s := ULIDSource{Now: k.now}
		s.state.mono = k.mono
		if at := Must(s.Next(t.Context())).Timestamp(); at.Year() != 1970 {
			t.Errorf("an id of %v, want 1970", at)
		}
		k.step(off)
		if at := Must(s.Next(t.Context())).Timestamp(); at.Sub(k.right()).Abs() > time.Second {
			t.Errorf("an id of %v, want %v", at, k.right())
		}
	})
}

// TestMonotonicIsRandomBySystem: copies of a virtual machine have what the process has
// in memory, a random generator too. All randomness comes from the system: with the same
// bytes from there, two sources make the same ids.
func TestMonotonicIsRandomBySystem(t *testing.T) {
	reader := cryptorand.Reader
	t.Cleanup(func() { cryptorand.Reader = reader })
	make3 := func() (made [3]ulid.ULID) {
		cryptorand.Reader = mathrand.NewChaCha8([32]byte{1})
		s := ULIDSource{Now: func() time.Time { return epoch }}
		for i := range made {
			made[i] = Must(s.Next(t.Context()))
		}
		return made
	}
	if a, b := make3(), make3(); a != b {
		t.Errorf("the same random bytes of the system make %v and %v", a, b)
	}
}

func TestMonotonicTimeRange(t *testing.T) {
	for _, test := range []struct {
		name string
		now  time.Time
		want error
	}{
		{"before 1970", time.UnixMilli(-1), ErrBeforeCustomEpoch},
		{"zero time", time.Time{}, ErrBeforeCustomEpoch},
		{"last", time.UnixMilli(maxUnixMs), nil},
		{"after the last", time.UnixMilli(maxUnixMs + 1), ErrTimeOverflow},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := func() time.Time { return test.now }
			_, ulidErr := (&ULIDSource{Now: now}).Next(t.Context())
			_, uuidErr := (&UUIDSource{Now: now}).Next(t.Context())
			if !errors.Is(ulidErr, test.want) || !errors.Is(uuidErr, test.want) {
				t.Errorf("ULID: %v, UUID: %v; want %v", ulidErr, uuidErr, test.want)
			}
		})
	}
	t.Run("1970 itself", func(t *testing.T) {
		s := ULIDSource{Now: func() time.Time { return time.UnixMilli(0) }}
		if id, err := s.Next(t.Context()); err != nil || id == ulid.Zero {
			t.Errorf("Next = %v, %v; want a ULID", id, err)
		}
	})
	t.Run("overflow in the last millisecond", func(t *testing.T) {
		s := UUIDSource{Now: func() time.Time { return time.UnixMilli(maxUnixMs) }}
		s.state.draw = func() (uint64, uint64) { return ^uint64(0), ^uint64(0) }
		first := Must(s.Next(t.Context()))
		if id, err := s.Next(t.Context()); !errors.Is(err, ErrTimeOverflow) || !id.IsZero() {
			t.Errorf("Next = %v, %v after %v; want the zero UUID and ErrTimeOverflow", id, err, first)
		}
	})
}

func TestULIDBits(t *testing.T) {
	s := ULIDSource{Now: func() time.Time { return time.UnixMilli(1469918176385) }} // the time of the ULID specification's example
	s.state.draw = func() (uint64, uint64) { return 0xffffffffffff1122, 0x33445566778899aa }
	s.state.step = func() uint64 { return 1 }
	first, second := Must(s.Next(t.Context())), Must(s.NextString(t.Context()))
	want := ulid.ULID{0x01, 0x56, 0x3d, 0xf3, 0x64, 0x81, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa}
	if first != want {
		t.Errorf("ULID is % x, want % x", first, want)
	}
	want[15]++
	if second != want.String() || second[:10] != "01ARYZ6S41" {
		t.Errorf("the next ULID is %s, want %s", second, want)
	}
}

// TestUUIDv7Bits uses the test vector of RFC 9562, appendix A.6.
func TestUUIDv7Bits(t *testing.T) {
	const randA, randB = 0xCC3, 0x18C4DC0C0C07398F
	s := UUIDSource{Now: func() time.Time { return time.UnixMilli(0x017F22E279B0) }}
	s.state.draw = func() (uint64, uint64) { return randA >> 2, (randA&3)<<62 | randB }
	s.state.step = func() uint64 { return 1<<62 - randB } // into rand_a
	got := []string{Must(s.Next(t.Context())).String(), Must(s.Next(t.Context())).String()}
	want := []string{"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "017f22e2-79b0-7cc4-8000-000000000000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("UUIDs mismatch (-want +got):\n%s", diff)
	}
}

// TestSourcesConcurrently checks that ids never repeat, ascend for every
// goroutine, and carry the clock's time, while that clock keeps jumping back.
func TestSourcesConcurrently(t *testing.T) {
	const goroutines, each = 8, 5000
	base := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var k manualClock
	now := func() time.Time { return base.Add(time.Duration(k.ms.Add(1)%50) * time.Millisecond) }
	ulids, uuids := &ULIDSource{Now: now}, &UUIDSource{Now: now}
	made := make([][]string, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range each {
				made[g] = append(made[g], Must(ulids.NextString(context.Background())), Must(uuids.Next(context.Background())).String())
			}
		})
	}
	wg.Wait()
	seen := make(map[string]bool)
	for g, ids := range made {
		for i, id := range ids {
			if i >= 2 && id <= ids[i-2] {
				t.Fatalf("goroutine %d: %s after %s", g, id, ids[i-2])
			}
			seen[id] = true
		}
	}
	if len(seen) != 2*goroutines*each {
		t.Errorf("%d distinct ids, want %d", len(seen), 2*goroutines*each)
	}
	for _, at := range []time.Time{Must(ulids.Next(t.Context())).Timestamp(), Must(uuids.Next(t.Context())).Time()} {
		if at.Before(base) || at.After(base.Add(49*time.Millisecond)) {
			t.Errorf("an id carries %v; the clock never left the 50 ms after %v", at, base)
		}
	}
}

func TestSourcesDiffer(t *testing.T) {
	now := func() time.Time { return epoch }
	a, b := Must((&UUIDSource{Now: now}).Next(t.Context())), Must((&UUIDSource{Now: now}).Next(t.Context()))
	if a == b || a.Time() != epoch || b.Time() != epoch {
		t.Errorf("two sources make %v and %v; want different UUIDs of %v", a, b, epoch)
	}
}
