// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
)

// mayPut returns why v cannot be written, or nil.
func (s *source) mayPut(v any) error {
	err := s.checkUsable()
	if err == nil && v == nil {
		return fmt.Errorf("persistable: %s: a nil *%s cannot be written", s.record.Type, s.record.Type)
	}
	return err
}

func (s source) create(ctx context.Context, v any) (err error) {
	ctx, o := s.begin(ctx, "Create", byID)
	defer o.finish(&err)
	if err := s.complete(ctx, v, true); err != nil {
		return err
	}
	fence, err := s.idFence(ctx, v)
	if err != nil {
		return err
	}
	return s.put(ctx, v, putOptions{mustBeNew: true, fence: fence})
}

func (s source) save(ctx context.Context, v any) (err error) {
	ctx, o := s.begin(ctx, "Save", byID)
	defer o.finish(&err)
	if err := s.complete(ctx, v, false); err != nil {
		return err
	}
	fence, err := s.idFence(ctx, v)
	if err != nil {
		return err
	}
	return s.put(ctx, v, putOptions{fence: fence})
}

// put writes a record in the source's transaction, or in one of its own.
func (s *source) put(ctx context.Context, v any, how putOptions) error {
	sc := getScratch()
	defer sc.release()
	return s.runWrite(ctx, func(t *transaction) error {
		w := write{record: s.record, putOptions: how, t: t, place: s.place, sc: sc, v: v}
		return w.run(ctx)
	})
}

// delete removes the record with the packed id in sc.
func (s *source) delete(ctx context.Context, sc *scratch) (err error) {
	ctx, o := s.begin(ctx, "Delete", byID)
	defer o.finish(&err)
	return s.runWrite(ctx, func(t *transaction) error {
		w := write{record: s.record, t: t, place: s.place, sc: sc}
		return w.run(ctx)
	})
}
