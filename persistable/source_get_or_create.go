// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// getOrCreate creates v and returns it, or returns the stored record that has its id
// or its unique values.
func (s source) getOrCreate(ctx context.Context, v any) (found any, err error) {
	ctx, o := s.begin(ctx, "GetOrCreate", byID)
	defer o.finish(&err)
	made := s.record.IDs.Made() && !s.record.hasID(v)
	if err := s.complete(ctx, v, true); err != nil {
		return nil, err
	}
	fence, err := s.idFence(ctx, v)
	if err != nil {
		return nil, err
	}
	sc := getScratch()
	defer sc.release()
	how := putOptions{mustBeNew: true, mustHaveUnique: made, fence: fence}
	err = s.runWrite(ctx, func(t *transaction) (err error) {
		w := write{record: s.record, putOptions: how, t: t, place: s.place, sc: sc, v: v}
		found, err = w.getOrCreate(ctx)
		return err
	})
	return found, err
}
