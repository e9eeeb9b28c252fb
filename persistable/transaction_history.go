// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/tuple"
)

// keepFormer keeps the header that the transaction replaces, under
// ("S", type, "history", versionstamp).
func (t *transaction) keepFormer(p *place, was *openStore, now *format.Catalog) error {
	if was.catalog.Describes(now) {
		return nil
	}
	value, err := format.Former{Until: time.Now(), Catalog: was.catalog}.Encode()
	if err != nil {
		return err
	}
	key, err := tuple.Tuple{tuple.Incomplete(0)}.PackVersionstamped(was.historyKey(p))
	if err != nil {
		return err
	}
	t.writer.Atomic(kv.SetVersionstampedKey, key, value)
	return nil
}
