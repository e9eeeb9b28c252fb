// SPDX-License-Identifier: Apache-2.0

package index

import "context"

// maintainVersion maintains an index of versions. d has one key, the prefix, in each
// form that exists.
func (m *maintenance) maintainVersion(_ context.Context, _ difference) error {
	return errUnknownKind(m.ix)
}
