// SPDX-License-Identifier: Apache-2.0

package tenants

// Lock is the lock of a tenant against writes. It is in the database, not in the
// process: it ends with [Set.Unlock] only. A program can keep it as text, and pass it
// on.
type Lock struct {
	Tenant string `json:"tenant"` // its name
	ID     string `json:"id"`     // random, another one for each lock
	Reason string `json:"reason"` // for people: what it is for
}
