// SPDX-License-Identifier: Apache-2.0

package sleep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
)

func TestFor(t *testing.T) {
	errStop := errors.New("stop")
	for _, c := range []struct {
		name       string
		d, end     time.Duration // the context ends after end; negative: before the call
		want       error
		wantWaited time.Duration
	}{
		{"whole", time.Second, time.Minute, nil, time.Second},
		{"cut short", time.Minute, time.Second, errStop, time.Second},
		{"of an ended context", time.Minute, -1, errStop, 0},
		{"of no time", 0, time.Minute, nil, 0},
		{"of no time and an ended context", -1, -1, errStop, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				if c.end < 0 {
					cancel(errStop)
				}
				stop := time.AfterFunc(c.end, func() { cancel(errStop) })
				defer stop.Stop()
				begin := time.Now()
				if err := sleep.For(ctx, c.d); !errors.Is(err, c.want) || time.Since(begin) != c.wantWaited {
					t.Errorf("waited %v, error %v, want %v, %v", time.Since(begin), err, c.wantWaited, c.want)
				}
			})
		})
	}
}
