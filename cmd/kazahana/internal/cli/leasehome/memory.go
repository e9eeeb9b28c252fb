// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// openMemory leases from memory. Unless the server is fresh, an earlier process may have
// granted leases: it waits until these have ended.
func openMemory(_ context.Context, o OpenOptions) (*Home, error) {
	if !o.Serves {
		return nil, shell.Invalid(errors.New("memory: ends with the command; it is for lease serve"))
	}
	return serverOf(memory.NewStore(nil), o, func() error { return nil })
}
