// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// startFences starts the checks of the DB's fences, once an attempt.
func (t *transaction) startFences() {
	if len(t.db.fences) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fences != nil {
		return
	}
	for _, f := range t.db.fences {
		t.fences = append(t.fences, f.StartCheck(t.writer))
	}
}

// awaitFences returns a *[FenceError] if one of the DB's fences does not hold.
func (t *transaction) awaitFences(ctx context.Context) error {
	if len(t.db.fences) == 0 {
		return nil
	}
	t.startFences()
	for _, f := range t.fences {
		if err := fenceError("", nil, f.Wait(ctx)); err != nil {
			return err
		}
	}
	return nil
}
