// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/rafttimer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// sleep sleeps in a bubble of synctest, and waits until the other goroutines have done what is
// due by then. The race detector knows that they have.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// newMachine returns a machine whose rolls are those of a seed.
func newMachine(t testing.TB, c rafttimer.Config, seed uint64) *rafttimer.Machine {
	t.Helper()
	m, err := rafttimer.NewMachine(c, rand.NewPCG(seed, 0))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newDriver returns a driver that the end of the test closes.
func newDriver(t testing.TB, o rafttimer.Options) *rafttimer.Driver {
	t.Helper()
	d, err := rafttimer.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
