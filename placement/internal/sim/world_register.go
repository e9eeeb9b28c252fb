// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// readRegister reads the register of an actor, in the step in which the fence is checked.
func (w *world) readRegister(a *actor) (value int, err error) {
	if !w.reachesStore(a.process.machine) {
		return 0, fmt.Errorf("%w: %w", placement.ErrUnavailable, errUnknown)
	}
	err = w.updateRegister(a, w.mutation == NoFence, func(found int) int {
		value = found
		return found
	})
	return value, err
}

// updateRegister updates the register of an actor. With permitted the fence is not checked.
func (w *world) updateRegister(a *actor, permitted bool, change func(int) int) error {
	w.permitted = permitted
	defer func() { w.permitted = false }()
	return w.store.home.Update(a.key, a.process.owner, a.epoch, change)
}
