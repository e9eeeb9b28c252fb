// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
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
	switch {
	case kv.CodeOf(err) == kv.CodeTooManyWatches:
		return sleep(ctx, nil, s.place.db.options.WatchPoll)
	case err != nil || found:
		return err
	}
	return w.wait(ctx)
}
