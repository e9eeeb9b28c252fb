// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/kazahana-db/kazahana/election/internal/candidate"
	"github.com/kazahana-db/kazahana/internal/uptime"
)

func (e *Election) newCampaign(ctx context.Context, giveWay time.Duration) *campaign {
	c := &campaign{
		Election: e, request: rand.Text(), origin: time.Now(), uptime: uptime.New(),
		self:    registration{Standby: Standby{e.options.Candidate, e.options.Priority}, member: rand.Text()},
		timer:   time.NewTimer(0),
		outcome: make(chan func(time.Duration), 1),
		watch:   neverWatch(),
	}
	c.actions, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.candidate = candidate.New(candidate.Config{
		Request: c.request, Duration: e.options.Duration, Window: max(e.options.ElectionTimeout/2, 1),
		GiveWay: giveWay, Source: e.options.Source, Origin: c.origin,
	}, 0)
	return c
}

// campaignAgain campaigns and leads, repeatedly.
func (e *Election) campaignAgain(ctx context.Context, lead func(context.Context, Term) error) error {
	giveWay := time.Duration(0)
	for {
		c := e.newCampaign(ctx, giveWay)
		err := c.awaitLeadership(ctx)
		served := err == nil && c.candidate.Over() == nil // else it was over before it could begin
		if served {
			err = c.lead(ctx, lead)
		}
		c.cleanUp(ctx)
		over := c.candidate.Over()
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !served || !e.options.Once:
		case over != nil:
			return deposed(c.grant, over)
		default:
			return nil
		}
		giveWay = 0
		if over == nil { // it has resigned
			giveWay = e.options.ElectionTimeout
		}
	}
}
