// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
)

// await waits until there may be a change behind a version. It writes nothing.
func (s source) await(ctx context.Context, since Version) error {
	err := s.checkUsable()
	if err == nil && s.tx != nil {
		err = fmt.Errorf("persistable: %s: Await reads in transactions of its own: use a store that is not bound to one", s.record.Type)
	}
	if err != nil {
		return err
	}
	w := watcher{source: &s}
	defer w.cancel()
	found, err := w.lookBehind(ctx, since)
	return w.waitUnless(ctx, found, err)
}
