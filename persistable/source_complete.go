// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// complete makes a record ready to be written: it has an id, and its hooks were
// called. Where the program assigns the ids a hook may set it.
func (s *source) complete(ctx context.Context, v any, creates bool) error {
	if err := s.mayPut(v); err != nil {
		return err
	}
	if err := s.ensureID(ctx, v); err != nil {
		return err
	}
	if err := s.record.callHooks(v, creates); err != nil {
		return err
	}
	if err := s.ensureID(ctx, v); err != nil {
		return err
	}
	return s.record.checkID(v)
}
