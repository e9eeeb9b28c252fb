// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// EnsureActivation implements driver.Executor: it calls the factory of the kind.
func (s *session) EnsureActivation(ctx context.Context, c placement.EnsureActivation) (placement.ActivationRecord, error) {
	record := placement.ActivationRecord{PID: s.pid}
	as, ok := s.kinds[c.Key.Kind]
	if !ok {
		return record, fmt.Errorf("host: kind %q is not registered here", clip(c.Key.Kind))
	}
	a, older, made := as.add(c.Key.ID, c.Epoch)
	if older != nil {
		go older.endWithin(context.WithoutCancel(ctx), placement.CauseLost, time.Time{})
	}
	if made {
		return record, a.callFactory(ctx)
	}
	if a.epoch != c.Epoch {
		return record, fmt.Errorf("%w: epoch %d was activated after epoch %d", placement.ErrStale, a.epoch, c.Epoch)
	}
	return record, a.awaitStart(ctx)
}

// Deactivate implements driver.Executor.
func (s *session) Deactivate(ctx context.Context, c placement.Deactivate) error {
	as, ok := s.kinds[c.Key.Kind]
	if !ok {
		return nil
	}
	a := as.find(c.Key.ID, c.Epoch)
	if a == nil {
		return nil
	}
	return a.endWithin(ctx, c.Cause, c.IdleSince)
}
