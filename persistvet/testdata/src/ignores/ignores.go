// SPDX-License-Identifier: Apache-2.0

package ignores

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

func ignored(ctx context.Context, db kv.Database) (n int, err error) {
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		n++ //persistvet:ignore retryeffect the caller wants the number of attempts
		//persistvet:ignore retryeffect so here
		n++
		//persistvet:ignore losterror the value does not matter // want "the comment silences nothing: losterror finds no fault here"
		n++
		n++ //persistvet:ignore retryeffect // want "the comment gives no reason"
		n++ //persistvet:ignore everything it is fine // want "the comment names no analyzer"
		return nil
	})
	return n, err
}
