// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// read reads the register of an actor, in the step in which the fence is checked.
func (w *world) read(a *actor) (value int, err error) {
	if !w.reaches(a.process.machine) {
		return 0, fmt.Errorf("%w: %w", placement.ErrUnavailable, errUnknown)
	}
	err = w.update(a, w.mutation == NoFence, func(found int) int {
		value = found
		return found
	})
	return value, err
}

// update updates the register of an actor. With permitted the fence is not checked.
func (w *world) update(a *actor, permitted bool, change func(int) int) error {
	w.permitted = permitted
	defer func() { w.permitted = false }()
	return w.store.home.Update(a.key, a.process.owner, a.epoch, change)
}
