// SPDX-License-Identifier: Apache-2.0

package commit

// tryAddVacancies adds the vacancies that reads have reported and refreshes the
// newest view. If another goroutine holds decideMu, the next batch or report adds
// them.
func (c *Committer) tryAddVacancies() {
	if c.decideMu.TryLock() {
		c.addReportedVacancies()
		c.releaseDecideMu()
	}
}

// addReportedVacancies adds the vacancies that reads have reported. The caller
// holds decideMu.
func (c *Committer) addReportedVacancies() {
	if c.window.AddReportedVacancies() {
		c.stale = true
	}
}
