// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease/sqlite"
)

func openSQLite(_ context.Context, o OpenOptions) (*Home, error) {
	if o.rest == "" {
		return nil, shell.Invalid(errors.New("sqlite: which file? As in sqlite:leases.db"))
	}
	if err := o.expectStored(o.rest, "no file "+o.rest); err != nil {
		return nil, err
	}
	store, err := sqlite.Open(o.rest, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return serverOf(store, o, store.Close)
}
