// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"testing"
)

// TestStart refuses a second job of a kind about the same while the first runs, and any job once
// the set is closed.
func TestStart(t *testing.T) {
	s := NewSet()
	wait := func(ctx context.Context, _ func(any)) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err := s.Start("build", "orders", wait); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start("build", "orders", wait); !errors.Is(err, ErrRunning) {
		t.Errorf("the same job again: %v", err)
	}
	for _, other := range [][2]string{{"verify", "orders"}, {"build", "accounts"}} {
		if _, err := s.Start(other[0], other[1], wait); err != nil {
			t.Errorf("%v: %v", other, err)
		}
	}
	s.Close()
	if _, err := s.Start("build", "events", wait); !errors.Is(err, ErrClosed) {
		t.Errorf("a job after Close: %v", err)
	}
	for _, j := range s.List() {
		if j.Ended == nil || j.Error != errEnded.Error() {
			t.Errorf("%s of %s after Close: %q", j.Kind, j.About, j.Error)
		}
	}
}
