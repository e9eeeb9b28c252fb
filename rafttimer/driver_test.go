// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

func TestDriverRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var elections, beats int
		var d *rafttimer.Driver
		d, err := rafttimer.New(t.Context(), rafttimer.Options{
			OnElectionTimeout: func(e rafttimer.Event) {
				elections++
				if elections == 3 {
					d.BecomeLeader()
					return
				}
				d.BecomeCandidate()
			},
			OnHeartbeat: func(rafttimer.Event) { beats++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		d.BecomeFollower()
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			d.Contact()
		}
		if elections != 0 {
			t.Fatalf("%d elections in spite of contacts", elections)
		}
		time.Sleep(900 * time.Millisecond)
		if elections != 3 || d.Role() != rafttimer.Leader {
			t.Fatalf("%d elections, now a %v", elections, d.Role())
		}
		before := beats
		time.Sleep(10*time.Second + time.Millisecond)
		if beats-before != 200 && beats-before != 201 {
			t.Errorf("%d heartbeats in 10 s", beats-before)
		}
	})
}
