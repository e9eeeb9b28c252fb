// SPDX-License-Identifier: Apache-2.0

package persistable

// VerifyOptions say how [Indexes.VerifyWith] works. The zero value verifies everything
// and changes nothing.
type VerifyOptions struct {
	// Token is the Next of the report of a call that ended early: the new call begins
	// where that one stopped. The token is bound to the store, and not to the process.
	Token string
	// Repair mends the entries at fault: it writes those that are missing or wrong, and
	// removes those that do not belong to their record. Records are never changed,
	// nor are counts and sums: Indexes().Rebuild repairs these.
	Repair bool
	// Progress, if it is not nil, is called after each batch with the report so far.
	Progress func(Report)
}
