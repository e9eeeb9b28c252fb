// SPDX-License-Identifier: Apache-2.0

package mux_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/rafttimer"
	"github.com/kazahana-db/kazahana/rafttimer/mux"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// newMux returns a Mux that the end of the test closes.
func newMux[T any](t testing.TB, handler func(*mux.Group[T], rafttimer.Event), o mux.Options) *mux.Mux[T] {
	t.Helper()
	m, err := mux.New(t.Context(), handler, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func newGroup[T any](t testing.TB, m *mux.Mux[T], value T) *mux.Group[T] {
	t.Helper()
	g, err := m.NewGroup(value)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
