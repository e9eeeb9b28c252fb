// SPDX-License-Identifier: Apache-2.0

package deployed

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Check reports what the store has that is in the way of the plan. It returns the
// keys that the store has already, as an earlier run of the same plan left them.
func (p *Plan) Check(ctx context.Context, s store.Store) (done map[string]bool, err error) {
	done = map[string]bool{}
	var faults []error
	for _, k := range p.Keys {
		there, err := k.check(ctx, s)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", k.Config.Key, err))
		}
		done[k.Config.Key] = there
	}
	return done, errors.Join(faults...)
}

// Apply stores the plan. It returns the keys that the store had already. Nothing
// is written if anything is in the way; a run that was interrupted can be repeated.
func (p *Plan) Apply(ctx context.Context, s store.Store) (done map[string]bool, err error) {
	done, err = p.Check(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, k := range p.Keys {
		if done[k.Config.Key] {
			continue
		}
		if err := k.storeKey(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", k.Config.Key, err)
		}
	}
	_, err = s.Advance(ctx)
	return done, err
}
