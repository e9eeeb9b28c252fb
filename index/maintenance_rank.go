// SPDX-License-Identifier: Apache-2.0

package index

import "context"

// maintainRank maintains a skip list. The keys of d are group, score and id.
func (m *maintenance) maintainRank(_ context.Context, _ difference) error {
	return errUnknownKind(m.ix)
}
