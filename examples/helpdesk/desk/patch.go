// SPDX-License-Identifier: Apache-2.0

package desk

import "github.com/kazahana-db/kazahana/examples/helpdesk/records"

// Patch is a change of a ticket: the fields that are not nil.
type Patch struct {
	Subject  *string           `json:"subject"`
	Body     *string           `json:"body"`
	Status   *records.Status   `json:"status"`
	Priority *records.Priority `json:"priority"`
}

// apply changes the ticket, and reports whether it was different before.
func (p Patch) apply(t *records.Ticket) bool {
	a, b := set(&t.Subject, p.Subject), set(&t.Body, p.Body)
	c, d := set(&t.Status, p.Status), set(&t.Priority, p.Priority)
	return a || b || c || d
}

func set[T comparable](field, value *T) bool {
	if value == nil || *field == *value {
		return false
	}
	*field = *value
	return true
}
