// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"

	"github.com/kazahana-db/kazahana/idgen"
)

// failing is a generator in an outage.
type failing struct{ err error }

func (f failing) Next(context.Context) (idgen.ID, error) { return 0, f.err }
