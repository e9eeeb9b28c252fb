// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"errors"

	"github.com/kazahana-db/kazahana/leasefdb"
)

func asHeld(err error, held **leasefdb.HeldError) bool { return errors.As(err, held) }

func ignoreLost(err error) error {
	if errors.Is(err, leasefdb.ErrLeaseLost) {
		return nil
	}
	return err
}
