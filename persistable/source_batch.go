// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"
)

// writeMany puts the records of a sequence and returns how many it has written.
func (s source) writeMany(ctx context.Context, o BatchOptions, how putOptions, vs iter.Seq2[any, error]) (n int, err error) {
	name := "SaveMany"
	if how.mustBeNew {
		name = "CreateMany"
	}
	ctx, op := s.begin(ctx, name, byID)
	defer op.finish(&err)
	return s.writeInBatches(ctx, o, how, vs)
}

func (s source) writeInBatches(ctx context.Context, o BatchOptions, how putOptions, vs iter.Seq2[any, error]) (int, error) {
	m, err := newBatcher(&s, o)
	if err != nil {
		return 0, err
	}
	var stop error // the error of a record, or of the sequence
	var pending []any
	for v, err := range vs {
		if err == nil {
			err = s.completeFor(ctx, v, how)
		}
		if stop = err; err != nil {
			break
		}
		pending = append(pending, v)
		for len(pending) >= m.size {
			if pending, err = m.putSome(ctx, pending, how); err != nil {
				return m.done, err
			}
		}
	}
	for len(pending) > 0 {
		if pending, err = m.putSome(ctx, pending, how); err != nil {
			return m.done, err
		}
	}
	if stop != nil {
		return m.done, m.partial(stop)
	}
	return m.done, nil
}

// completeFor prepares a record for the put that is meant.
func (s *source) completeFor(ctx context.Context, v any, how putOptions) error {
	if !how.mustExist {
		return s.complete(ctx, v, how.mustBeNew)
	}
	if err := s.mayPut(v); err != nil {
		return err
	}
	return s.makeReadyToReplace(v)
}
