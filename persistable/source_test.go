// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"

	"github.com/kazahana-db/kazahana/idgen"
)

// faultyGenerator is a generator in an outage.
type faultyGenerator struct{ err error }

func (f faultyGenerator) Next(context.Context) (idgen.ID, error) { return 0, f.err }
