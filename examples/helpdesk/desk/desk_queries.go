// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/persistable"
)

// TicketPage is a part of a list of tickets, and the token of the next part.
type TicketPage = persistable.Page[*records.Ticket]

// List returns a page of the tickets with a status, the newest first.
func (d *Desk) List(ctx context.Context, status records.Status, limit int, token string) (TicketPage, error) {
	return d.tickets.ByStatusCreatedAt(status).Reverse().Limit(limit).Page(ctx, token)
}

// Queue returns a page of the open tickets: the most urgent first, and of these the oldest.
func (d *Desk) Queue(ctx context.Context, limit int, token string) (TicketPage, error) {
	return d.tickets.OrderedByPriorityCreatedAtWhereQueue().Limit(limit).Page(ctx, token)
}

// Search says which tickets to find: those that fulfil all of its conditions.
type Search struct {
	Words     []string // that the subject has
	Requester string   // "" for any
	Status    *records.Status
}

// Find returns a page of the tickets that a search finds. If it would have to read too many,
// the error is a [*persistable.FilterLimitError].
func (d *Desk) Find(ctx context.Context, s Search, limit int, token string) (TicketPage, error) {
	q, err := d.tickets.Find(s.conditions()...)
	if err != nil {
		return TicketPage{}, err
	}
	return q.Reverse().Limit(limit).Page(ctx, token)
}

func (s Search) conditions() (all []persistable.Condition[*records.Ticket]) {
	for _, word := range s.Words {
		all = append(all, records.TicketFields.Words.Equal(word))
	}
	if s.Requester != "" {
		all = append(all, records.TicketFields.Requester.Equal(s.Requester))
	}
	if s.Status != nil {
		all = append(all, records.TicketFields.Status.Equal(*s.Status))
	}
	return all
}

// Counts returns the number of tickets of each status. It reads a counter for each, not
// the tickets.
func (d *Desk) Counts(ctx context.Context) (map[records.Status]int64, error) {
	counts := map[records.Status]int64{}
	for _, status := range records.Statuses() {
		counts[status] = 0
	}
	for group, err := range d.tickets.CountsByStatus(ctx) {
		if err != nil {
			return nil, err
		}
		counts[group.Group] = group.Count
	}
	return counts, nil
}
