// SPDX-License-Identifier: Apache-2.0

package persistable

import "errors"

// VerifyOptions say how [Indexes.VerifyWith] works. The zero value verifies everything
// and changes nothing.
type VerifyOptions struct {
	// Token is the Next of the report of a call that ended early: the new call begins
	// where that one stopped. The token is bound to the store, and not to the process.
	Token string
	// Repair mends what is at fault: it writes entries that are missing or wrong, removes
	// those that do not belong to their record, and corrects counts and sums. Records are
	// never changed.
	Repair bool
	// Progress, if it is not nil, is called after each batch with the report so far.
	Progress func(Report)
	// RecountBytes is the size of the records, by the engine's estimate, up to which
	// counts and sums are compared with the records at one version. Those of more
	// records, or of so many that it takes longer than a version can be read, are counted
	// anew beside writers, see [Indexes.VerifyWith]. The default value is 16 megabytes;
	// below 0 all are counted anew.
	RecountBytes int64
	// NoRecount leaves out that count beside writers, which writes a count of its own into
	// the store and removes it: counts and sums that cannot be compared at one version are
	// among the report's Skipped. With NoRecount and without Repair nothing is written.
	NoRecount bool
	// Build says how that count is made. Its Progress is called as well.
	Build BuildOptions
}

// Validate reports all faults of the options, joined.
func (o VerifyOptions) Validate() error { return errors.Join(o.Build.Validate()) }

const defaultRecountBytes = 16 << 20
