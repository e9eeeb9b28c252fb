// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package budgets

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/records"
)

// scanner is a store that reads in further ways.
type scanner interface {
	// WholeCategory returns all users of a category in the order of time.
	WholeCategory(ctx context.Context, category string) ([]records.User, error)
	// ScanPage returns the page of so many users in the order of ids with so many pages before it.
	ScanPage(ctx context.Context, before, size int) ([]records.User, error)
}

// wholeCategory reads the users of a category without a limit.
func (p *peer) wholeCategory() measure.Entrant {
	return measure.Entrant{Ops: 100, Elastic: true, Op: func(w *measure.Worker) error {
		category := records.Category(w.Rand.IntN(loadedUsers / records.PerCategory))
		found, err := p.store.(scanner).WholeCategory(ctx, category)
		return checkLength(found, err)
	}}
}

// scanPage reads one of the first pages of users. The first round makes its tokens.
func (p *peer) scanPage() measure.Entrant {
	const pages = 50
	return measure.Entrant{Ops: 100, Elastic: true, Op: func(w *measure.Worker) error {
		found, err := p.store.(scanner).ScanPage(ctx, w.Rand.IntN(pages), records.PerCategory)
		return checkLength(found, err)
	}}
}

func checkLength(found []records.User, err error) error {
	if err == nil && len(found) != records.PerCategory {
		err = fmt.Errorf("got %d users, want %d", len(found), records.PerCategory)
	}
	return err
}
