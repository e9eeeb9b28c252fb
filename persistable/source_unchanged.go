// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// deleteIfUnchanged deletes the record if the stored one still is was.
func (s source) deleteIfUnchanged(ctx context.Context, was any) (err error) {
	ctx, o := s.begin(ctx, "DeleteIfUnchanged", byID)
	defer o.finish(&err)
	if err := s.mayPut(was); err != nil {
		return err
	}
	seen, err := s.record.Encode([]byte{}, was)
	if err != nil {
		return err
	}
	sc := getScratch()
	defer sc.release()
	sc.id = s.record.appendID(sc.id[:0], was)
	return s.runWrite(ctx, func(t *transaction) error {
		w := write{record: s.record, putOptions: putOptions{mustExist: true, seen: seen}, t: t, place: s.place, sc: sc}
		return w.run(ctx)
	})
}
