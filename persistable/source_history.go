// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// schemaHistory reads the former headers and the present one.
func (s source) schemaHistory(ctx context.Context) (all []SchemaVersion, err error) {
	ctx, o := s.begin(ctx, "Indexes.History", byID)
	defer o.finish(&err)
	err = s.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, s.place)
		if all = nil; err != nil || o == nil {
			return err
		}
		r := kv.PrefixRange(o.historyKey(s.place))
		for pair, err := range t.Reader.GetRange(r.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).All(ctx) {
			if err != nil {
				return err
			}
			former, err := format.DecodeFormer(pair.Value)
			if err != nil {
				return recordError(s.record.Type, "", pair.Key, err)
			}
			all = append(all, newSchemaVersion(former))
		}
		all = append(all, newSchemaVersion(format.Former{Catalog: o.catalog}))
		return nil
	})
	return all, err
}
