// SPDX-License-Identifier: Apache-2.0

// Package ignore silences findings by comments in the source. A comment is at the end of
// the line of the finding, or alone on the line before it, and gives the reason:
//
//	attemptsSeen = append(attemptsSeen, n) //persistvet:ignore retryeffect the test wants each attempt
//
// An analyzer reports by a [Reporter] and returns what it used:
//
//	r := ignore.NewReporter(pass)
//	r.Report(analysis.Diagnostic{Pos: call.Pos(), Message: "…"})
//	return r.Uses, nil
package ignore
