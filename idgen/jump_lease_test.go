// SPDX-License-Identifier: Apache-2.0

package idgen_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestJumpOfTheClockThatLeasesGoBy sets the clock of a process to another year,
// or minutes ahead, and back. The process leases from a store that goes by the same clock, as
// programs do that lease from their own database: the leases do not confirm the
// wrong time. IDs go on, leased and of the right year, and the client works on
// when the clock is right again.
func TestJumpOfTheClockThatLeasesGoBy(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, test := range []struct{ far, wrong time.Duration }{
		{year, time.Second},
		{year, time.Minute},
		{year, 3 * time.Hour},
		{6 * time.Second, 5 * time.Second},
		{5 * time.Minute, time.Second},
		{5 * time.Minute, 4 * time.Minute},
		{9 * time.Minute, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, quiet := time.Now(), slog.New(slog.DiscardHandler)
			var shift atomic.Int64
			right := func() time.Time { return time.UnixMilli(idgen.DefaultCustomEpochMs).Add(year + time.Since(begin)) }
			now := func() time.Time { return right().Add(time.Duration(shift.Load())) }
			mono := func() time.Duration { return time.Since(begin) }
			provider := idgen.Must(memory.New(memory.Options{Now: now, Server: lease.Options{Monotonic: mono, Logger: quiet}}))
			ids := idgen.Must(idgen.NewClient(idgen.Options{Provider: provider, Now: now, Logger: quiet}.WithMonotonic(mono)))
			last := idgen.ID(0)
			next := func(what string) {
				t.Helper()
				id, err := ids.Next(t.Context())
				if err != nil || id <= last || id.IsFallback() || id.Time().Sub(right()).Abs() > time.Second {
					t.Fatalf("%v ahead for %v, %s: Next = %d of %v (fallback %v), %v after %d; want a leased ID of %v", test.far, test.wrong, what, id, id.Time(), id.IsFallback(), err, last, right())
				}
				last = id
			}
			next("at first")
			for range 3 {
				shift.Store(int64(test.far))
				for range 50 {
					time.Sleep(test.wrong / 50)
					next("while the clock is wrong")
				}
				shift.Store(0)
				for range 50 {
					time.Sleep(time.Minute)
					next("when the clock is right again")
				}
			}
			if err := ids.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if page, err := provider.List(t.Context(), "", lease.ListOptions{}); err != nil || len(page.Leases) > 3 { // those abandoned
				t.Errorf("%d leases are active in the end, %v", len(page.Leases), err)
			}
		})
	}
}
