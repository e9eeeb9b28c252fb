// SPDX-License-Identifier: Apache-2.0

package persistable

// ViolationPage is a part of a unique index's violations.
type ViolationPage struct {
	Violations []Violation // in the order of the ids of their records
	Next       string      // the token of the next page; empty on the last one
}
