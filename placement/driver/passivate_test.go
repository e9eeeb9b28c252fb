// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"testing"
	"testing/synctest"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
)

// TestPassivate: an activation that asks for its end ends and gives its key back; a former
// activation of the key cannot end the present one.
func TestPassivate(t *testing.T) {
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t, options)
				m := alone(t, h, &executor{}, driver.Options{}, placement.Options{})
				first := resolve(t, m, keyOf("1"))
				m.Passivate(keyOf("1"), first.Epoch-1)
				synctest.Wait()
				if active, _ := m.countActivations(); active != 1 {
					t.Errorf("%d are active after an earlier epoch asked for the end", active)
				}
				m.Passivate(keyOf("1"), first.Epoch)
				synctest.Wait()
				if active, _ := m.countActivations(); active != 0 || h.Len() != 0 {
					t.Errorf("%d are active, and the home has %d rows", active, h.Len())
				}
				if again := resolve(t, m, keyOf("1")); again.Epoch <= first.Epoch {
					t.Errorf("epoch %d came after epoch %d", again.Epoch, first.Epoch)
				}
				stop(t, m)
			})
		})
	}
}
