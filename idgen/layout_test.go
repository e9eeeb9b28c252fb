// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

func TestLayoutValidateReportsAllFaults(t *testing.T) {
	with := func(change func(*Layout)) Layout {
		l := DefaultLayout()
		change(&l)
		return l
	}
	for _, test := range []struct {
		name   string
		layout Layout
		faults []string
	}{
		{"default", DefaultLayout(), nil},
		{"42 bits of time, 13 of machine", with(func(l *Layout) { l.TimestampBits, l.MachineBits = 42, 13 }), nil},
		{"more reserve", with(func(l *Layout) { l.ReserveBits, l.MachineBits = 5, 10 }), nil},
		{"42 bits of time with nothing given for it", with(func(l *Layout) { l.TimestampBits = 42 }), []string{"are 65"}},
		{"no reserve", with(func(l *Layout) { l.ReserveBits, l.SequenceBits = 0, 9 }), []string{"ReserveBits is 0"}},
		{"one machine bit", with(func(l *Layout) { l.MachineBits, l.SequenceBits = 1, 21 }), []string{"MachineBits is 1"}},
		{"before 1970", with(func(l *Layout) { l.CustomEpoch = -1 }), []string{"CustomEpoch is -1"}},
		{"after 9999", with(func(l *Layout) { l.CustomEpoch = maxCustomEpoch + 1 }), []string{"CustomEpoch is 253402300800000"}},
		{"everything", Layout{-1, 0, 43, -2, 0}, []string{"CustomEpoch is -1", "ReserveBits is 0", "TimestampBits is 43", "MachineBits is -2", "SequenceBits is 0", "are 41"}},
		{"zero", Layout{}, []string{"ReserveBits is 0", "TimestampBits is 0", "MachineBits is 0", "SequenceBits is 0", "are 0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.layout.Validate()
			if len(test.faults) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			lines := strings.Split(fmt.Sprint(err), "\n")
			if len(lines) != len(test.faults) {
				t.Fatalf("%d faults reported, want %d:\n%v", len(lines), len(test.faults), err)
			}
			for i, want := range test.faults {
				if !strings.Contains(lines[i], want) {
					t.Errorf("fault %d is %q, want it to say %q", i, lines[i], want)
				}
			}
		})
	}
}

func TestDefaultLayoutRange(t *testing.T) {
	l := DefaultLayout()
	if want := time.Date(2026, 1, 1, 0, 0, 0, 1e6, time.UTC); !l.First().Equal(want) {
		t.Errorf("First() = %v, want %v", l.First(), want)
	}
	if want := time.Date(2095, 9, 7, 15, 47, 35, 551e6, time.UTC); !l.Last().Equal(want) {
		t.Errorf("Last() = %v, want %v", l.Last(), want)
	}
	last, err := l.Compose(l.Last(), 1<<14-1, 255)
	if err != nil || last != math.MaxInt64 {
		t.Errorf("the last ID is %d, %v; want %d", last, err, int64(math.MaxInt64))
	}
	unsafe, err := l.At(l.First().Add(25 * 24 * time.Hour))
	if err != nil || unsafe <= maxSafeJSON {
		t.Errorf("an ID after 25 days is %d, %v; want more than 2^53", unsafe, err)
	}
}

// TestLayoutJSON pins the names of a layout in JSON, which programs may have stored.
func TestLayoutJSON(t *testing.T) {
	const want = `{"CustomEpochMs":1,"BitReserve":2,"BitTs":3,"BitID":4,"BitSeq":5}`
	l := Layout{CustomEpoch: 1, ReserveBits: 2, TimestampBits: 3, MachineBits: 4, SequenceBits: 5}
	var got Layout
	if text, err := json.Marshal(l); err != nil || string(text) != want {
		t.Errorf("%+v is %s, %v; want %s", l, text, err, want)
	} else if err := json.Unmarshal(text, &got); err != nil || got != l {
		t.Errorf("%s is %+v, %v; want %+v", text, got, err, l)
	}
}

// anyLayout draws valid layouts.
var anyLayout = rapid.Custom(func(t *rapid.T) Layout {
	l := Layout{CustomEpoch: rapid.Int64Range(0, maxCustomEpoch).Draw(t, "epoch")}
	l.TimestampBits = rapid.IntRange(minTimestampBits, maxTimestampBits).Draw(t, "ts")
	rest := 64 - l.TimestampBits
	l.ReserveBits = rapid.IntRange(minReserveBits, rest-minMachineBits-minSequenceBits).Draw(t, "reserve")
	rest -= l.ReserveBits
	l.MachineBits = rapid.IntRange(minMachineBits, rest-minSequenceBits).Draw(t, "id")
	l.SequenceBits = rest - l.MachineBits
	return l
})

// TestLayoutAgainstBitStrings compares the methods of Layout with a model that
// writes an ID as 64 characters and cuts it up.
func TestLayoutAgainstBitStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLayout.Draw(t, "layout")
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		ts := rapid.Int64Range(1, 1<<l.TimestampBits-1).Draw(t, "timestamp")
		machine := rapid.IntRange(0, 1<<l.MachineBits-1).Draw(t, "machine")
		sequence := rapid.IntRange(0, 1<<l.SequenceBits-1).Draw(t, "sequence")
		at := time.UnixMilli(l.CustomEpoch + ts)

		text := fmt.Sprintf("%0*b%0*b%0*b%0*b", l.ReserveBits, 0, l.TimestampBits, ts, l.MachineBits, machine, l.SequenceBits, sequence)
		want, err := strconv.ParseInt(text, 2, 64)
		if err != nil || len(text) != 64 {
			t.Fatalf("model: %q: %v", text, err)
		}
		got, err := l.Compose(at, machine, sequence)
		if err != nil || int64(got) != want {
			t.Fatalf("Compose = %d, %v; want %d", got, err, want)
		}
		if l.MachineID(got) != machine || l.Sequence(got) != sequence || !l.Time(got).Equal(at) {
			t.Fatalf("parts of %d: %v, %d, %d; want %v, %d, %d", got, l.Time(got), l.MachineID(got), l.Sequence(got), at, machine, sequence)
		}
		if fallback := text[l.ReserveBits+l.TimestampBits] == '1'; l.IsFallback(got) != fallback {
			t.Fatalf("IsFallback(%s) = %v", text, !fallback)
		}
		if low, err := l.At(at); err != nil || low > got || l.Time(low-1).Equal(at) {
			t.Fatalf("At(%v) = %d, %v; want the least ID of that time", at, low, err)
		}
	})
}

func TestComposeRefusesWhatDoesNotFit(t *testing.T) {
	l := DefaultLayout()
	ok := l.First()
	for _, test := range []struct {
		name              string
		at                time.Time
		machine, sequence int
		want              error
	}{
		{"epoch itself", l.First().Add(-time.Millisecond), 0, 0, ErrBeforeCustomEpoch},
		{"long before", time.Time{}, 0, 0, ErrBeforeCustomEpoch},
		{"after the end", l.Last().Add(time.Millisecond), 0, 0, ErrTimeOverflow},
		{"machine too large", ok, 1 << 14, 0, ErrInvalid},
		{"machine negative", ok, -1, 0, ErrInvalid},
		{"sequence too large", ok, 0, 256, ErrInvalid},
		{"sequence negative", ok, 0, -1, ErrInvalid},
	} {
		if id, err := l.Compose(test.at, test.machine, test.sequence); !errors.Is(err, test.want) || id != 0 {
			t.Errorf("%s: Compose = %d, %v; want 0, %v", test.name, id, err, test.want)
		}
	}
}

func TestTimeRangeErrorSaysRangeAndRemedy(t *testing.T) {
	_, err := DefaultLayout().At(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	var tre *refusal.TimeRangeError
	if !errors.As(fmt.Errorf("wrapped: %w", err), &tre) {
		t.Fatalf("error %v is not a *refusal.TimeRangeError", err)
	}
	want := "idgen: time after the end of the timestamp: 2100-01-01T00:00:00.000Z is not within 2026-01-01T00:00:00.001Z" +
		" and 2095-09-07T15:47:35.551Z; set the clock right or use a layout with another epoch"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("text mismatch (-want +got):\n%s", diff)
	}
}
