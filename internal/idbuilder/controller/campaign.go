// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/kv"
)

// campaign makes one of several controllers the leader.
type campaign interface {
	// run calls lead each time that this controller becomes the leader, until ctx ends.
	// The context of lead ends when leadership may be lost.
	run(ctx context.Context, lead func(context.Context) error) error
}

// newCampaign returns an election if there is a database, else a lease on a
// document.
func newCampaign(s store.Store, o Options) (campaign, error) {
	if o.Database == nil {
		return newSeat(s, o.Lease), nil
	}
	return newElected(o.Database, o.Lease)
}

// databaseCampaign is a campaign in a database.
type databaseCampaign struct{ *election.Election }

func newElected(db kv.Database, lease time.Duration) (databaseCampaign, error) {
	e, err := election.New(db, "idbuilder-controller", election.Options{Duration: lease})
	return databaseCampaign{e}, err
}

func (e databaseCampaign) run(ctx context.Context, lead func(context.Context) error) error {
	return e.Run(ctx, func(ctx context.Context, _ election.Term) error {
		if err := lead(ctx); err != nil && !errors.Is(err, context.Cause(ctx)) {
			return err
		}
		return nil // campaign again
	})
}
