// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Scan reads the records of a query, however many there are and however long that
// takes: see [Across]. T is what the query yields. A Scan is for one goroutine at a
// time; those that Split returns are independent of each other.
type Scan[T any] struct {
	run  *scanRun
	read func(v any) (T, error)
}

// Across returns the scan of a query's records over as many transactions as it
// takes. token is "" for all records, or what [Scan.Token] returned, also in another
// process: the scan then goes on there. The token is bound to the query (index, bounds,
// conditions, direction), the directory and the database, and does not expire. A
// query with a Limit counts that down over all calls. A query bound to a transaction
// cannot be read across transactions: All returns an error.
//
// Each transaction reads one version of the database, for five seconds at most. The
// next one goes on behind the last record, at a later version. So a record that
// exists during the whole scan and does not change comes exactly once. In the order of
// ids ([Store.Scan]) each record comes at most once, as it was at one of these
// versions; one that is created or deleted meanwhile comes or does not. In the order of
// an index a record whose entry moves meanwhile may come at both places, or at
// neither. For one version of all records, see [DB.ReadTransact], which has five
// seconds.
//
// Memory: one batch of keys (of an index, with the records that they name) and no
// more, however long the scan is.
func Across[T any](q *Query[T], token string) *Scan[T] {
	return &Scan[T]{newScanRun((*erased.Query)(q), token), func(v any) (T, error) { return typed[T](v, nil) }}
}

// AcrossRows is [Across] for rows.
func AcrossRows[R any](q *RowQuery[R], token string) *Scan[R] {
	return &Scan[R]{newScanRun(q.erased().Query(), token), q.read}
}

// All yields the records that are left. After an error it stops. Called again, after an
// error too, it goes on behind the last record that it has yielded. The query's
// FilterLimit counts anew in each call.
func (s *Scan[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var record T
		read := func(v any) (err error) {
			record, err = s.read(v)
			return err
		}
		s.run.yieldAll(ctx, read, func(err error) bool {
			if err != nil {
				var none T
				record = none
			}
			return yield(record, err)
		})
	}
}

// Token returns the place behind the last record that All has yielded. In the body of a
// loop over All that is the record of the turn: take the token when the record is
// dealt with. A program that stores it then deals with each record at least once,
// and exactly once if it stores it in the transaction of what it does with the
// record. After an error the token is right as well. At the end it is that of a scan
// without records.
//
// It is made of letters, digits, "-" and "_".
func (s *Scan[T]) Token() string { return s.run.token() }

// Split divides what is left of the scan into parts, at most n and at least one, for
// goroutines or processes of their own: each part's token has its bounds. The parts
// together yield each record once, as the scan would; one behind the other they are in the
// order of the query. The engine's sample of the keys says where to cut, so that the
// parts have about the same size, and fewer than n for little data. Each part reads at
// versions of its own.
//
// A query with a Limit cannot be divided. One of several ranges of keys, as [Query.Explain]
// tells, is one part. The scan itself stays as it is. Cost: two rounds.
func (s *Scan[T]) Split(ctx context.Context, n int) ([]*Scan[T], error) {
	runs, err := s.run.split(ctx, n)
	if err != nil {
		return nil, err
	}
	parts := make([]*Scan[T], len(runs))
	for i, run := range runs {
		parts[i] = &Scan[T]{run, s.read}
	}
	return parts, nil
}
