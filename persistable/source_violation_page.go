// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/index"
)

// violations returns a page of the violations of an index.
func (s source) violations(ctx context.Context, name, token string) (ViolationPage, error) {
	if err := s.mayBuild(); err != nil {
		return ViolationPage{}, err
	}
	i, err := s.place.findIndex(name)
	if err != nil {
		return ViolationPage{}, err
	}
	if !s.place.definitions[i].Unique {
		return ViolationPage{}, &NoIndexError{Type: s.record.Type, Reason: fmt.Sprintf("the index %s is not unique", name), Indexes: s.record.indexFields()}
	}
	tokens := maintenanceTokens{&s, "violations " + name}
	after, err := tokens.open(token)
	if err != nil {
		return ViolationPage{}, err
	}
	var page ViolationPage
	for {
		left, next, err := s.settlePage(ctx, i, after)
		if err != nil {
			return ViolationPage{}, err
		}
		page.Violations = append(page.Violations, left...)
		if next == nil {
			return page, nil
		}
		if after = next; len(page.Violations) >= violationBatch {
			page.Next = tokens.seal(next)
			return page, nil
		}
	}
}

// settlePage settles the violations behind a key, as many as go into a transaction,
// and returns those that are left and where to go on.
func (s *source) settlePage(ctx context.Context, i int, after []byte) (left []Violation, next []byte, err error) {
	err = s.place.db.transact(ctx, func(t *transaction) error {
		left, next = nil, nil
		o, err := t.openStore(ctx, s.place)
		if err != nil || o == nil || o.indexes[i].State != index.Building {
			return err
		}
		if err := o.checkWritable(s.place); err != nil {
			return err
		}
		left, next, err = s.settleBatch(ctx, t, o, i, after)
		return err
	})
	return left, next, err
}
