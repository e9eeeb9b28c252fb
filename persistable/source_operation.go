// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable/trace"
)

// begin begins an operation of the source: a method with that name, perhaps on the
// schema's i-th index. The caller goes on with the context that begin returns.
func (s *source) begin(ctx context.Context, name string, i int) (context.Context, *operation) {
	if s.place == nil || s.place.db.options.Tracer == nil {
		return ctx, nil
	}
	op := trace.Operation{Name: name, Type: s.record.Type, Path: s.place.path}
	if i != byID {
		op.Index = s.record.Indexes[i].Name
	}
	return s.place.db.begin(ctx, op, s.tx)
}
